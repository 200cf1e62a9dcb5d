import numpy as np
import pytest
from benchmarks.concept import CASES, CHANGED, SAME, Rival, draw, rows_of


@pytest.mark.parametrize("name", CASES)
def test_every_case_has_rows_and_labels(name):
    case = CASES[name]
    for window in (*SAME, *CHANGED):
        rows = draw(case, window, np.random.default_rng(0))
        assert len(rows) == case.n_rows
        assert rows["y"].notna().sum() >= 80
        assert rows["y"].dropna().nunique() > 1


def test_rivals_see_a_change_that_is_plain_to_see():
    rng = np.random.default_rng(0)
    rows = draw(CASES["bent complete"], "nothing", rng)
    rival = Rival(rows, rng)
    assert rival.ks(rows.assign(y=rows["y"] + 3.0)) < 1e-9
    assert rival.loss(rows.assign(y=rows["y"] + 3.0)) < 1e-9


def test_bars():
    n_windows = len(SAME) + len(CHANGED)
    counts = np.zeros((n_windows, 3), dtype=int)
    counts[len(SAME) :] = 50, 20, 30
    rows, missed = rows_of({"calm": counts}, 100)
    assert missed == 0
    assert [row[-1] for row in rows] == ["ok"] * len(rows)
    counts[1, 0], counts[-1, 2] = 30, 200
    rows, missed = rows_of({"loud": counts}, 100)
    assert missed == 3
    assert [row[:2] for row in rows if row[-1] == "missed"] == [
        ("loud", "x 0.5"),
        ("all cases", "x 0.5"),
        ("all cases", "changed"),
    ]
