import numpy as np
import pytest

from gapdrift.errors import ParameterError
from gapdrift.tables.missingness import check_rates, draw_mask, missing_rates


def test_rates_of_no_rows_are_zero():
    np.testing.assert_array_equal(missing_rates(np.empty((0, 2), dtype=bool)), [0, 0])


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
