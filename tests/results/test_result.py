import json
import re
import subprocess
import sys

import numpy as np
import pytest

import gapdrift as gd
from gapdrift import results

EMPTY = gd.DriftResult(
    True,
    0.01,
    0.05,
    100,
    100,
    gd.results.Finding(
        "values", None, None, 0.01, None, parts=(gd.results.Finding("location", None, None, 0.01, None),)
    ),
    gd.results.Finding("missingness", None, None, 0.5, None),
    (
        gd.results.FeatureFinding("price", 0.1, 0.2, 0.01, 0.01, tested=True),
        gd.results.FeatureFinding("size", 0.1, 0.2),
    ),
    (gd.results.BinFinding({"price": 1.0}, 0.5, 0.7, None), gd.results.BinFinding({"price": 2.0}, 0.5, 0.3, None)),
)
"""A result in which everything that may be None is None."""


def test_public_names():
    assert set(results.__all__) == {
        "BatchStrip",
        "BinFinding",
        "Check",
        "ColumnSensitivity",
        "DriftResult",
        "FeatureFinding",
        "Finding",
        "Histogram",
        "PairFinding",
        "Limits",
        "PairSide",
        "run_checks",
        "Sensitivity",
        "UsualVariation",
    }
    assert results.DriftResult is gd.DriftResult


def test_records_are_there_without_the_code_that_shows_them():
    code = "import sys, gapdrift.results; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    brought = set(done.stdout.split())
    assert not [name for name in brought if name.startswith("gapdrift.results.report")]
    assert not brought & {"scipy", "sklearn", "matplotlib"}


@pytest.mark.parametrize("show", ["summary", "to_markdown", "to_html", "_repr_html_"])
def test_nothing_is_said_of_what_is_not_there(show):
    text = getattr(EMPTY, show)().removeprefix("<!DOCTYPE html>")
    assert "None" not in text
    assert not re.search(r"\bnan\b", text)
    assert "\N{EN DASH}" not in text
    assert "price" in text


def test_what_is_not_there_is_null_in_json():
    values = json.loads(EMPTY.to_json())["values"]
    assert [values[key] for key in ("statistic", "degrees_of_freedom", "effect_size")] == [None, None, None]
    assert json.loads(EMPTY.to_json())["bins"][0]["contribution"] is None


def test_bars_are_drawn_for_columns_that_were_tested_in_the_order_of_the_report():
    figure = EMPTY.plot()
    values, _ = figure.axes
    assert len(values.patches) == 1
    # From the bottom to the top.
    assert [label.get_text() for label in values.get_yticklabels()] == ["size", "price"]
    assert figure.get_suptitle() == "Drift"


def test_a_notebook_shows_a_chart_and_pyplot_keeps_none():
    import matplotlib.pyplot as plt

    assert EMPTY.plot()._repr_png_().startswith(b"\x89PNG")
    assert plt.get_fignums() == []


def test_a_chart_opens_a_window_of_its_own_and_waits(monkeypatch):
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    shown = []
    monkeypatch.setattr(mpl, "get_backend", lambda: "qtagg")
    monkeypatch.setattr(plt, "show", lambda: shown.append([axes.get_title() for axes in plt.gcf().axes]))
    EMPTY.plot().show()
    assert shown == [["values", "missing cells"]]
    assert plt.get_fignums() == []


def test_without_a_screen_a_chart_says_what_to_do():
    with pytest.raises(gd.GapdriftError, match=r"no screen.*savefig"):
        EMPTY.plot().show()


def test_columns_can_be_sorted_by_every_number():
    for number in ("p_value", "adjusted_p_value", "effect_size", "missing_p_value", "adjusted_missing_p_value"):
        assert sorted(EMPTY.features, key=lambda feature, number=number: getattr(feature, number))


@pytest.mark.parametrize("library", ["pandas", "polars", None])
def test_features_and_bins_are_tables(library):
    frame = EMPTY.to_frame(library=library)
    assert type(frame).__module__.startswith(library or "pandas")
    assert list(frame["name"]) == ["price", "size"]
    assert list(frame["tested"]) == [True, False]
    assert frame["p_value"][0] == 0.01
    # A number of a test that was not made is missing, not 1.
    assert frame["p_value"][1] is None or np.isnan(frame["p_value"][1])
    bins = EMPTY.to_frame("bins", library=library)
    assert list(bins["centre of price"]) == [1.0, 2.0]
    assert list(bins["share_window"]) == [0.7, 0.3]


def test_a_table_of_something_else_says_what_there_is():
    with pytest.raises(gd.errors.ParameterError, match="part is 'columns', expected one of 'features', 'bins',"):
        EMPTY.to_frame("columns")
    with pytest.raises(gd.errors.ParameterError, match="library is 'numpy', expected one of 'pandas', 'polars'"):
        EMPTY.to_frame(library="numpy")


@pytest.mark.parametrize("rows", [0, 100])
def test_a_finding_of_a_published_test_is_complete_or_empty(rows):
    rng = np.random.default_rng(0)
    result = gd.MDLFWF(random_state=0).fit(rng.normal(size=(200, 2))).test(rng.normal(size=(rows, 2)))
    numbers = (result.values.statistic, result.values.degrees_of_freedom, result.values.effect_size)
    assert all(number is not None for number in numbers) == bool(rows)
    assert all(number is None for number in numbers) != bool(rows)
    assert bool(result.features) == bool(result.bins) == bool(rows)
    assert all(entry.contribution is not None for entry in result.bins)


def test_a_stored_result_keeps_what_is_not_there(tmp_path):
    gd.save(EMPTY, tmp_path / "result.gapdrift")
    assert gd.load(tmp_path / "result.gapdrift") == EMPTY


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_names_that_no_table_can_hold_are_escaped_in_frames(library):
    rows = {"\ud800": np.random.default_rng(0).normal(size=100)}
    result = gd.compare(rows, rows)
    assert result.to_frame(library=library)["name"].to_list() == ["\\ud800"]
    assert "centre of \\ud800" in result.to_frame("bins", library=library).columns
