import numpy as np
import pandas as pd
import pytest
from scipy.stats import kurtosis

from gapdrift.inference.blocks import largest
from gapdrift.inference.products import (
    Correlations,
    correlations,
    fisher,
    gaussian_moments,
    indicator_products,
    product_kinds,
    triple_places,
    whitening,
)
from tests.inference.conftest import draw, hide, is_uniform


def test_correlations_are_those_of_the_rows_with_both(fit, rng):
    rows = hide(rng.normal(size=(300, 3)) + rng.normal(size=(300, 1)), rng)
    found = fit(rows)
    first, second = np.array([0, 0, 1]), np.array([1, 2, 2])
    ours = correlations(found.reference, first, second)
    both = ~np.isnan(rows[:, first]) & ~np.isnan(rows[:, second])
    assert ours.n_rows.tolist() == both.sum(axis=0).tolist()
    np.testing.assert_allclose(ours.values, pd.DataFrame(rows).corr().to_numpy()[first, second], atol=0.06)


def test_fishers_z_holds_its_level(rng):
    found = []
    for _ in range(2_000):
        sides = [rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=n) for n in (50, 80)]
        of_sides = [Correlations(np.corrcoef(side.T)[[0], [1]], np.array([float(len(side))])) for side in sides]
        found.append(fisher(*of_sides)[0])
    assert is_uniform(found, 5.0)
    assert fisher(Correlations(np.ones(1), np.full(1, 3.0)), Correlations(-np.ones(1), np.full(1, 99.0))) == 1.0


def test_each_product_is_tested_once(fit, rng):
    found = fit(rng.normal(size=(200, 4)))
    pairs, others = product_kinds(found.functions, found.null.products)
    # Of four u and four w: each u with its w, and what is of two columns but for the six pairs of u.
    assert len(pairs[0]) == 6
    assert len(others[0]) == 4 + 12 + 6
    pair, third = triple_places(found.functions)
    first, second = (each[pair] for each in found.functions.pairs)
    triples = np.sort(np.column_stack([first, second, third]), axis=1)
    assert len(triples) == 4 == len(np.unique(triples, axis=0))


@pytest.mark.parametrize("covariance", [-0.01, 0.0, 0.02])
def test_products_of_indicators(rng, covariance):
    one, two = 0.2, 0.1
    both = one * two + covariance
    shares = [both, one - both, two - both, 1.0 - one - two + both]
    cells = rng.choice(4, 400_000, p=shares)
    products = (np.isin(cells, [0, 1]) - one) * (np.isin(cells, [0, 2]) - two)
    variance, excess = indicator_products(np.array([one]), np.array([two]), np.array([covariance]))
    # At least those of independent indicators.
    apart = (rng.random(400_000) < one) - one
    apart = apart * ((rng.random(400_000) < two) - two)
    assert variance[0] == pytest.approx(max(products.var(), apart.var()), rel=0.05)
    assert excess[0] == pytest.approx(max(kurtosis(products), kurtosis(apart)), rel=0.15)


def test_moments_of_whitened_products_of_gaussian_columns(rng):
    """The sum over 200 rows of each side of products of columns with the correlation that whitens them."""
    size, n_rows = 4, 200
    correlation = np.full((size, size), 0.5) + 0.5 * np.eye(size)
    root, turn = np.linalg.cholesky(correlation), whitening(correlation, 1e6)
    ones = np.full((size, size), np.sqrt(0.5))
    mean, variance, third = gaussian_moments(turn, [correlation, correlation], [ones, ones])
    values = []
    for _ in range(3_000):
        sides = [rng.normal(size=(n_rows, size)) @ root.T for _ in range(2)]
        one, two = (side.T @ side / n_rows for side in sides)
        values.append(0.5 * ((turn @ ((two - one) * np.sqrt(n_rows / 2.0)) @ turn) ** 2).sum())
    centred = np.array(values) - np.mean(values)
    assert mean == pytest.approx(np.mean(values), rel=0.05)
    assert variance == pytest.approx((centred**2).mean(), rel=0.15)
    assert third == pytest.approx((centred**3).mean(), rel=0.5)


def test_whitening_leaves_what_is_white():
    np.testing.assert_allclose(whitening(np.eye(3), 100.0), np.eye(3), atol=1e-12)


def test_products_hold_their_level(unchanged):
    shares = [each.null.shares for each in unchanged]
    for part, place in (("pairs", 1), ("others", 2), ("triples", 3)):
        tests = [getattr(each, part) for each in unchanged]
        found = [largest(one.entries, share[place], one.explained) for one, share in zip(tests, shares, strict=True)]
        assert np.mean(np.array(found) < 0.05) < 0.12, part
        assert 0.35 < np.mean(found) < 0.68, part
    assert is_uniform([each.together.p_value for each in unchanged])


def test_a_correlation_that_changed_is_found_by_its_product(fit, rng):
    found = fit(draw(1_000, rng))
    window = draw(1_000, rng)
    window[:, 3] -= window[:, 4]
    compared = found.compare(window)
    place = int(compared.pairs.p_values.argmin())
    assert [each[place] for each in compared.pairs.functions] == [3, 4]
    assert compared.pairs.p_values[place] < 1e-9
    assert compared.together.p_value < 1e-9
