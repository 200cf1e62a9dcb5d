"""Sentences of pages that compare measurements in words: true of the files of results that the pages show."""

import re

import pytest

from docs._tools.results import read
from docs._tools.typed import ROOT

TIME = {
    (row["cell"], row["batches"], row["window"]): (
        float(row["alarms"]),
        {name: float(rate) for name, rate in re.findall(r"([A-Za-z][A-Za-z ]*?) (\d\.\d+)", row["others"])},
    )
    for row in read(ROOT / "benchmarks/results/time.csv")
    if row["cell"] != "many"
}
LESS = [
    ("Tripled missing cells", ("beijing", "10", "missing"), "NannyML"),
    ("Tripled missing cells", ("weather", "20", "missing"), "NannyML"),
    ("Shifts", ("shifts", "50", "shifted"), "Hotelling"),
]


@pytest.mark.parametrize(("sentence", "row", "rival"), LESS)
def test_what_falls_short_among_batches(sentence, row, rival):
    ours, others = TIME[row]
    assert f"*{sentence}*" in (ROOT / "docs/guides/time.md").read_text(encoding="utf-8")
    assert ours < others[rival], f"docs/guides/time.md, 'What falls short', {sentence}: no longer so for {row}."


def test_shifts_are_found_more_often_than_by_both_rules():
    shifted = {row: found for row, found in TIME.items() if row[2] == "shifted" and "in order" not in row[0]}
    short = {row for row, (ours, others) in shifted.items() if ours < max(others["NannyML"], others["popmon"])}
    assert not short, f"docs/guides/time.md, 'What falls short', Shifts: not so for {short}."


def test_cells_have_300_windows():
    """Rome, whose weeks are too few, apart."""
    rows = read(ROOT / "benchmarks/results/time.csv")
    short = [row for row in rows if int(row["windows"]) < 300 and not row["cell"].startswith(("air", "sens", "many"))]
    assert not short


def test_planned_changes_are_found_more_or_less_often_as_the_page_says():
    found = {row[0].removeprefix("sensitivity "): ours for row, (ours, _) in TIME.items() if row[2] == "as planned"}
    assert found["uniform-mean"] > 0.85
    assert max(found["gaussian-covariance"], found["poisson-mean"]) < 0.75
    assert all(abs(found[kind] - 0.8) <= 0.05 for kind in ("gaussian-mean", "poisson-rho"))
