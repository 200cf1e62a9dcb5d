import numpy as np
import pytest

from gapdrift.counting import patterns
from gapdrift.counting.patterns import PatternCache, describe_patterns, pattern_codes, unknown_parts
from gapdrift.models.gaussian import DensePrecision, find_patterns

OWNER = np.array([0, 1, 1, 1, 2, 3])


@pytest.fixture
def precision(rng):
    root = rng.normal(size=(6, 8))
    return DensePrecision(root @ root.T)


@pytest.fixture
def missing(rng):
    return rng.random((300, 4)) < 0.4


def solve(known, index, vectors):
    solved = np.zeros(vectors.shape)
    for block in known.blocks(index):
        solved[block.rows[:, None], block.columns] = block.solve(vectors)
    return solved


def test_codes_tell_patterns_apart(missing):
    codes = pattern_codes(missing)
    same = (missing[:, None] == missing[None]).all(axis=2)
    assert np.array_equal(codes[:, None] == codes[None], same)
    assert np.array_equal(codes == 0, ~missing.any(axis=1))


@pytest.mark.parametrize("room", [patterns.MAX_PATTERNS, 6])
def test_what_is_kept_solves_like_the_precision(precision, missing, room, monkeypatch, rng):
    monkeypatch.setattr(patterns, "MAX_PATTERNS", room)
    cache = PatternCache(precision, OWNER, 4)
    vectors = rng.normal(size=(300, 6))
    exact = precision.solve(find_patterns(missing[:, OWNER]), vectors)
    for _ in range(2):
        known, index = cache.find(pattern_codes(missing))
        found = index >= 0
        assert len(known) <= room
        assert found.all() or room == 6
        assert np.array_equal(known.missing[index[found]], missing[found])
        assert np.array_equal(solve(known, index[found], vectors[found]), exact[found])


@pytest.mark.parametrize("cells", [patterns.MAX_PATTERN_CELLS, 20])
def test_unknown_patterns_are_described_in_parts(precision, missing, cells, monkeypatch, rng):
    monkeypatch.setattr(patterns, "MAX_PATTERN_CELLS", cells)
    vectors = rng.normal(size=(300, 6))
    exact = precision.solve(find_patterns(missing[:, OWNER]), vectors)
    seen = []
    for rows, known, index in unknown_parts(missing, OWNER, precision):
        assert np.array_equal(known.missing[index], missing[rows])
        assert np.array_equal(solve(known, index, vectors[rows]), exact[rows])
        seen += rows.tolist()
    assert sorted(seen) == list(range(300))


def test_joined_patterns_keep_their_numbers(precision):
    complete = np.zeros((1, 4), dtype=bool)
    one = describe_patterns(np.vstack([complete, np.eye(4, dtype=bool)[:2]]), OWNER, precision)
    two = describe_patterns(np.vstack([complete, np.eye(4, dtype=bool)[2:]]), OWNER, precision)
    both = one.joined(two)
    assert np.array_equal(both.missing, np.vstack([complete, np.eye(4, dtype=bool)]))
    for known, numbers in ((one, [1, 2]), (both, [1, 2]), (both, [3, 4])):
        for block in known.blocks(np.array(numbers)):
            for row, chosen, matrix in zip(block.rows, block.columns, block.covariance, strict=True):
                wide = known.missing[numbers[row]][OWNER]
                assert np.array_equal(chosen, np.flatnonzero(wide))
                expected = np.linalg.inv(precision.matrix[np.ix_(chosen, chosen)])
                assert matrix == pytest.approx(expected)
