import numpy as np
import pytest
from benchmarks._drawn_concepts import bars, row_of, work
from benchmarks.concept import CASES, CHANGED, SAME, Rival, draw, rows_of
from benchmarks.grammar.concepts import MOST_COLUMNS, MOVES, drawn_concept


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


def test_a_seed_determines_a_drawn_concept_and_its_rows():
    for seed in range(0, 200, 20):
        case = drawn_concept(seed)
        assert case == drawn_concept(seed)
        one, again = case.pair(1), case.pair(1)
        assert all(left.equals(right) for left, right in zip(one, again, strict=True))
        assert [len(side) for side in one] == [case.n_reference, case.n_window]
        assert not one[0].equals(case.pair(2)[0])


def test_drawn_concepts_have_every_part_of_the_grammar():
    cases = [drawn_concept(seed) for seed in range(300)]
    assert {case.move for case in cases} == set(MOVES)
    assert len({case.mean for case in cases}) == 7
    assert len({case.label for case in cases}) == 9
    widths = {len(case.marginals) for case in cases}
    assert widths >= set(range(1, 9))
    assert 50 < max(widths) <= MOST_COLUMNS


@pytest.mark.parametrize("seed", range(0, 400, 50))
def test_the_label_of_drawn_concepts_follows_what_the_table_shows(seed):
    """Of rounded columns the label follows the rounded numbers: a shift within them would change P(y | x)."""
    case = drawn_concept(seed)
    rows = case._rows(200, case.move, np.random.default_rng(0))
    for column, kind in enumerate(case.marginals):
        is_rounded = np.array_equal(rows[:, column], np.round(rows[:, column]))
        assert is_rounded == (kind in {"ordinal", "category"})


def test_a_drawn_concept_is_judged_and_held_against_the_bars():
    row = row_of(900, work((900, 2)))
    assert row[:3] == ("drawn 900", "2", "2")
    alarming = [{"p": 0.001, "surest": "level"}, {"p": 0.5, "surest": "slopes"}, {}, {"error": "no"}]
    row = row_of(900, alarming)
    assert row[1:7] == ("4", "2", "1", "1", "level 1", "no 1")
    assert [bar.reached for bar in bars([row])] == [False, False, False]
    assert all(bar.reached for bar in bars([row_of(900, [{"p": 0.5, "surest": "level"}])]))
