import numpy as np
import pytest

from tests.inference.conftest import draw


def test_the_same_rows_do_not_differ(fit, rng):
    rows = draw(300, rng)
    found = fit(rows).compare(rows)
    for products in found.products:
        assert np.abs(products.difference).max() == 0.0
        assert products.p_values.min() == 1.0
    assert np.abs(found.location.difference).max() < 1e-9
    assert found.location.together.p_value > 0.99
    assert found.conditions.single == pytest.approx(1.0)
    assert min(test.p_value for test in found.columns) > 0.5


def test_columns_have_a_test_each_where_enough_is_observed(fit, rng):
    window = draw(300, rng)
    window[4:, 2] = np.nan
    found = fit(draw(300, rng)).compare(window).columns
    assert [test is None for test in found] == [False, False, True, False, False]


def test_products_that_are_hardly_known_blame_nothing(fit, rng):
    found = fit(draw(300, rng)).compare(draw(60, rng))
    weights = found.others.entries.weights
    assert 0.0 < weights.max() <= 1.0
    assert (found.others.p_values[weights <= 0.5] == 1.0).all()


def test_what_changed_conditions_explain_is_taken_off_everywhere(fit, rng):
    window = draw(2_000, rng, 0.0)
    window[:, 3] = np.where(window[:, 3] + rng.normal(size=2_000) > 0.0, np.nan, window[:, 3])
    found = fit(draw(2_000, rng, 0.0)).compare(window)
    assert found.conditions.moved.argmax() == 3
    owner = found.sides[0].functions.function_owner
    for products in found.products:
        involved = np.any([owner[each] == 3 for each in products.functions], axis=0)
        assert (products.explained[involved] > 1.0).all()
    assert found.columns[3].p_value > 1e3 * found.columns[3].unguarded
