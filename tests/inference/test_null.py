import numpy as np
import pytest

from gapdrift.errors import StorageError
from gapdrift.inference.blocks import largest
from gapdrift.inference.null import independent_share
from tests.inference.conftest import draw
from tests.inference.test_blocks import plain


def test_equal_entries_are_worth_one_and_independent_ones_each(rng):
    rows = rng.normal(size=(1_000, 40))
    assert independent_share(rows) == pytest.approx(1.0, abs=0.2)
    # A squared correlation that chance explains is mixed in as noise: copies count for a little more than one.
    assert 1.0 <= 40.0 * independent_share(np.repeat(rows[:, :1], 40, axis=1)) < 2.0
    assert independent_share(rows[:, :1]) == 1.0
    assert independent_share(np.zeros((10, 3))) == 1.0


def test_few_rows_do_not_make_entries_seem_dependent(rng):
    assert independent_share(rng.normal(size=(30, 200))) > 0.7


@pytest.mark.parametrize("n_rows", [60, 1_000])
def test_the_largest_of_dependent_entries_holds_its_level_with_their_share(rng, n_rows):
    """Rows that tell the share, and scores, are drawn anew. It is that of small p-values: large ones are cautious."""
    mix = rng.normal(size=(30, 30)) * (np.arange(30) < 3) + 0.5 * np.eye(30)
    mix /= np.sqrt((mix**2).sum(axis=1))[:, None]
    shares = [independent_share(rng.normal(size=(n_rows, 30)) @ mix.T) for _ in range(20)]
    p_values = np.array([largest(plain(mix @ rng.normal(size=30)), shares[place % 20]) for place in range(4_000)])
    assert (p_values < 0.01).mean() == pytest.approx(0.01, abs=0.007)
    assert (p_values < 0.05).mean() == pytest.approx(0.05, abs=0.015)
    assert (p_values < 0.5).mean() < 0.52


def test_what_a_reference_tells(fit, rng):
    rows = rng.normal(size=(3_000, 3))
    rows[:, 2] = 7.0
    found = fit(rows)
    size = len(found.functions.function_owner)
    assert found.null.known.tolist() == [place != 2 for place in found.functions.function_owner.tolist()]
    # u of Gaussian numbers is cut off at two and a half standard deviations.
    np.testing.assert_allclose(found.null.functions.variance[:2] / 32.0**2, 1.0, atol=0.05)
    np.testing.assert_allclose(found.null.functions.kurtosis[:2], -0.2, atol=0.15)
    assert found.null.products.variance.shape == (size, size)
    assert found.null.products.variance[0, 1] == pytest.approx(1.0, abs=0.1)
    assert found.null.product_sum.mean == pytest.approx(1.0, abs=0.15)


def test_a_window_shows_that_values_are_rarer(fit, rng):
    null = fit(draw(500, rng)).null
    assert null.as_rare_as(null.functions.variance).functions.kurtosis.tolist() == null.functions.kurtosis.tolist()
    assert null.as_rare_as(4.0 * null.functions.variance).functions.kurtosis[0] == null.functions.kurtosis[0]
    rarer = null.as_rare_as(null.functions.variance / 4.0)
    assert rarer.functions.kurtosis[0] == pytest.approx(4.0 * (null.functions.kurtosis[0] + 3.0) - 3.0)
    assert rarer.products.kurtosis[0, 1] == pytest.approx(16.0 * (null.products.kurtosis[0, 1] + 3.0) - 3.0)


def test_a_null_is_about_its_functions(fit, rng):
    one, two = fit(draw(100, rng)), fit(draw(100, rng, n_columns=6))
    one.null.check_stored()
    one.null.check_fits(one.functions)
    with pytest.raises(StorageError, match="the shape of entries"):
        one.null.check_fits(two.functions)
