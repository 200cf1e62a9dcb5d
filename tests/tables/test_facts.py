import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gapdrift as gd
from gapdrift.counting.fact_finder import FactFinder
from gapdrift.tables import facts
from gapdrift.tables.facts import Facts, add_tallies, count_copies, cut_tally

tallies = st.dictionaries(st.text("abcdef", max_size=3), st.integers(1, 9), max_size=40)


@given(tallies, tallies, tallies)
@settings(max_examples=60, deadline=None)
def test_tallies_add_up_in_whatever_order_even_if_they_are_cut(one, two, three):
    largest = facts.MAX_TALLIED
    facts.MAX_TALLIED = 10
    try:
        cut = [cut_tally(tally) for tally in (one, two, three)]
        left = add_tallies(add_tallies(cut[0], cut[1]), cut[2])
        right = add_tallies(cut[2], add_tallies(cut[1], cut[0]))
        names = {*one, *two, *three}
        whole = {name: sum(tally.get(name, 0) for tally in (one, two, three)) for name in names}
        assert left == right == cut_tally(whole)
    finally:
        facts.MAX_TALLIED = largest


def test_facts_of_all_rows_are_those_of_the_parts():
    rows = gd.datasets.stations(1_000, rng=1)
    rows["sky"][:50] = [f"sky {place}" for place in range(50)]
    detector = gd.DriftDetector(random_state=0).fit(gd.datasets.stations(300, rng=0))
    whole = detector.count(rows).facts
    added = detector.evidence_.zero()
    for start in range(0, 1_000, 170):
        added += detector.count({name: cells[start : start + 170] for name, cells in rows.items()})
    added = added.facts
    assert added.tallies == whole.tallies
    for name in ("smallest", "largest", "hashes", "copies"):
        np.testing.assert_array_equal(getattr(added, name), getattr(whole, name))
    assert whole.tallies[-1]["sky 7"] == 1
    assert whole.smallest[0] == np.nanmin(rows["temperature"])


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_copies_of_rows_are_found_in_any_chunk(share):
    rng = np.random.default_rng(2)
    rows = np.column_stack([rng.normal(size=20_000), rng.integers(0, 3, 20_000), np.full(20_000, np.nan)])
    n_copies = int(share * len(rows))
    rows[len(rows) - n_copies :] = rows[:n_copies]
    detector = gd.DriftDetector(random_state=0).fit(rng.normal(size=(100, 3)))
    evidence = sum((detector.count(part) for part in np.array_split(rows, 7)), detector.evidence_.zero())
    assert evidence.facts.duplicate_share == pytest.approx(share, abs=0.04)
    assert detector.count(np.repeat(rows[:10], 3, axis=0)).facts.duplicate_share == pytest.approx(2 / 3)


def test_copies_of_categories_that_share_a_column_differ():
    levels = np.array([f"level {place}" for place in range(200)] * 2, dtype=object)
    detector = gd.DriftDetector(random_state=0, categories=["c"]).fit({"c": levels, "x": np.zeros(400)})
    assert detector.count({"c": levels[:200], "x": np.zeros(200)}).facts.duplicate_share == 0.0
    assert detector.count({"c": levels[[0, 0, 1]], "x": np.zeros(3)}).facts.duplicate_share == pytest.approx(1 / 3)


def test_many_rows_keep_the_smallest_hashes():
    codes = np.random.default_rng(3).integers(2**63, size=100_000, dtype=np.uint64)
    hashes, copies = count_copies(codes)
    everything = np.unique((codes ^ (codes >> np.uint64(32))) >> np.uint64(1))
    np.testing.assert_array_equal(hashes, everything[: facts.MAX_HASHES])
    assert (copies == 1).all()
    same = np.zeros(100_000, dtype=np.uint64)
    assert [part.tolist() for part in count_copies(same)] == [[0], [100_000]]


def test_damaged_facts_are_refused():
    none = np.zeros(0, dtype=np.intp)
    sound = ({"a": 1},)
    for damaged in (
        Facts(np.zeros(2), np.zeros(1), sound, none, none),
        Facts(np.zeros(1), np.zeros(1), ({"a": 0},), none, none),
        Facts(np.zeros(1), np.zeros(1), sound, np.array([1, 1]), np.array([1, 1])),
        Facts(np.zeros(1), np.zeros(1), sound, np.array([1]), none),
    ):
        with pytest.raises(gd.errors.StorageError, match="not sound"):
            damaged.check_stored()
    Facts(np.zeros(1), np.zeros(1), sound, none, none).check_stored()


def test_rows_of_which_little_is_known_are_no_copies():
    detector = gd.DriftDetector(random_state=0).fit(np.random.default_rng(4).normal(size=(100, 4)))
    rows = np.full((50, 4), np.nan)
    rows[:, 0] = 1.0
    assert detector.count(rows).facts.duplicate_share == 0.0
    rows[:, 1:3] = 2.0
    assert detector.count(rows).facts.duplicate_share == pytest.approx(0.98)


def test_machine_code_finds_the_same_facts():
    code = pytest.importorskip("gapdrift.counting.compiled")
    rng = np.random.default_rng(3)
    rows = rng.standard_t(2, size=(3_000, 4))
    rows[:, 3] = rng.integers(-1, 2, 3_000) * np.where(rng.random(3_000) < 0.5, 0.0, 1.0)
    rows[rng.random(rows.shape) < 0.2] = np.nan
    rows[-500:] = rows[:500]
    known = rng.normal(size=(200, 4))
    known[:, 3] = known[:, 3] > 0.0
    reference = gd.DriftDetector(random_state=0).fit(known).reference_
    functions = reference.functions
    finders = [FactFinder(functions.owner, functions.is_number, part) for part in (None, code)]
    for finder in finders:
        for part in np.array_split(rows, 3):
            finder.add(part)
            finder.add_new(part, functions.axes)
    plain, compiled = (finder.facts for finder in finders)
    assert plain.tallies == compiled.tallies and any(plain.tallies)
    for name in ("smallest", "largest", "hashes", "copies"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(compiled, name))
    assert plain.duplicate_share > 0.05
