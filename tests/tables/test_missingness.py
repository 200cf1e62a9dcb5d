import numpy as np
import pytest

from gapdrift.errors import ParameterError
from gapdrift.tables.missingness import check_rates, draw_mask, missing_patterns, missing_rates


def test_rates_of_no_rows_are_zero():
    np.testing.assert_array_equal(missing_rates(np.empty((0, 2), dtype=bool)), [0, 0])


def test_patterns_give_the_rows_back(rng):
    missing = rng.random((200, 11)) < 0.3
    patterns, index, counts = missing_patterns(missing)
    np.testing.assert_array_equal(patterns[index], missing)
    np.testing.assert_array_equal(np.bincount(index), counts)
    assert len(np.unique(patterns, axis=0)) == len(patterns)


def test_patterns_without_columns():
    patterns, index, counts = missing_patterns(np.empty((3, 0), dtype=bool))
    assert (patterns.shape, index.tolist(), counts.tolist()) == ((1, 0), [0, 0, 0], [3])


@pytest.mark.parametrize("rates", [1.5, -0.1, [0.1, 0.2], [[0.1]], float("nan")])
def test_bad_rates(rates):
    with pytest.raises(ParameterError, match="rates"):
        check_rates(rates, 3)


def test_mask_has_the_rates(rng):
    hidden = draw_mask(100_000, [0.1, 0.5], rng)
    np.testing.assert_allclose(hidden.mean(axis=0), [0.1, 0.5], atol=0.01)
    assert abs(np.corrcoef(hidden.T)[0, 1]) < 0.02


def test_rates_that_are_no_numbers():
    with pytest.raises(ParameterError, match="rates"):
        check_rates("often", 3)
