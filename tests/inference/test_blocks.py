import numpy as np
import pytest
from scipy.stats import chi2, kurtosis, norm, skew

from gapdrift.errors import StorageError
from gapdrift.inference.blocks import (
    Entries,
    EntryShape,
    Moments,
    attenuation,
    entries_of,
    largest,
    ridge,
    shape_of,
    shrunk,
    tail_p_values,
    taper,
    whitened_sum,
)
from tests.inference.conftest import is_uniform


def equicorrelated(size, correlation=0.6):
    return np.full((size, size), correlation) + (1.0 - correlation) * np.eye(size)


def plain(scores, weights=None):
    zeros = np.zeros(len(scores))
    return Entries(scores, zeros, zeros, np.ones(len(scores)) if weights is None else weights)


@pytest.mark.parametrize("weights", [np.ones(20), np.linspace(0.1, 1.0, 20)], ids=["equal", "tapered"])
def test_the_largest_of_independent_entries_is_uniform(rng, weights):
    scores = rng.normal(size=(4_000, 20))
    assert is_uniform([largest(plain(row, weights), 1.0) for row in scores])


def test_the_largest_of_copies_is_uniform_with_the_share_of_one(rng):
    assert is_uniform([largest(plain(np.full(20, score)), 1.0 / 20.0) for score in rng.normal(size=4_000)])


def test_entries_that_are_not_known_or_explained_take_no_part():
    scores = np.array([9.0, 1.0])
    assert largest(plain(scores, np.array([0.0, 1.0])), 1.0) == pytest.approx(2.0 * norm.sf(1.0))
    assert largest(plain(scores, np.zeros(2)), 1.0) is None
    assert largest(plain(scores), 1.0, np.array([8.0, 0.0])) == pytest.approx(1.0 - (1.0 - 2.0 * norm.sf(1.0)) ** 2)
    assert shrunk(np.array([-3.0, 0.5, 3.0]), 1.0).tolist() == [-2.0, 0.0, 2.0]


@pytest.mark.parametrize("n_known", [40, 120, 5_000])
def test_the_whitened_sum_is_uniform_with_a_correlation_that_so_many_rows_tell(rng, n_known):
    """Scores and the rows that tell their correlation are drawn anew each time."""
    size = 15
    root = np.linalg.cholesky(equicorrelated(size))
    found = []
    for _ in range(1_000):
        rows, scores = rng.normal(size=(min(n_known, 400), size)) @ root.T, root @ rng.normal(size=size)
        known = equicorrelated(size) if n_known > 400 else np.corrcoef(rows.T)
        found.append(whitened_sum(scores, np.ones(size), known, n_known, 0.0).p_value)
    assert is_uniform(found, 5.0)


def test_the_whitened_sum_sees_what_moves_against_the_correlation():
    correlation, weights = equicorrelated(8), np.ones(8)
    along, against = np.full(8, 1.5), 1.5 * (-1.0) ** np.arange(8)
    p_values = [whitened_sum(scores, weights, correlation, 1e4, 0.0).p_value for scores in (along, against)]
    assert p_values[0] > 0.3
    assert p_values[1] < 1e-4


def test_weights_of_a_whitened_sum_leave_its_moments_right(rng):
    size, weights = 10, np.linspace(0.1, 1.0, 10)
    root = np.linalg.cholesky(equicorrelated(size))
    found = [whitened_sum(root @ z, weights, equicorrelated(size), 1e5, 0.0) for z in rng.normal(size=(4_000, size))]
    values = np.array([each.value for each in found])
    assert values.mean() == pytest.approx(found[0].mean, rel=0.05)
    assert values.var() == pytest.approx(found[0].variance, rel=0.15)


def test_moments_of_a_chi_square():
    for size, value in ((1, 9.0), (10, 30.0), (200, 300.0)):
        assert Moments(value, size, 2.0 * size, 8.0 * size).p_value == pytest.approx(chi2.sf(value, size), rel=1e-6)


def test_weights_taper_without_a_step():
    rows = np.linspace(0.0, 120.0, 100_001)
    found = taper(rows, np.full(len(rows), 10.0))
    assert found[rows <= 20.0].max() == 0.0
    assert found[rows >= 80.0].min() == 1.0
    assert (np.diff(found) >= 0.0).all()
    assert np.diff(found).max() < 1e-4
    assert taper(np.array([5.0]), np.array([-2.0])) == taper(np.array([5.0]), np.array([1.0]))


def test_tails_are_normal_gamma_and_student():
    scores = np.array([-6.0, -1.0, 2.0, 6.0])
    none = np.zeros(4)
    np.testing.assert_allclose(tail_p_values(scores, none, none), 2.0 * norm.sf(np.abs(scores)), rtol=0.05)
    # A sum of ten squares is a gamma variable of skewness 2 sqrt(2 / 10) and of excess kurtosis 12 / 10.
    square = (30.0 - 10.0) / np.sqrt(20.0)
    found = tail_p_values(np.array([square, -square]), np.full(2, 2.0 * np.sqrt(0.2)), np.zeros(2))
    assert found[0] == pytest.approx(2.0 * chi2.sf(30.0, 10), rel=1e-6)
    assert found[1] == pytest.approx(2.0 * norm.sf(square))
    assert (tail_p_values(scores, none, np.full(4, 3.0)) >= tail_p_values(scores, none, none)).all()


def test_tails_grow_heavier_without_a_step():
    score = np.array([5.0])
    for values in (np.linspace(-0.5, 0.5, 2_001), np.linspace(-1.0, 3.0, 4_001)):
        by_skewness = [float(np.log10(tail_p_values(score, np.array([each]), np.zeros(1))[0])) for each in values]
        assert np.abs(np.diff(by_skewness)).max() < 0.3
        by_kurtosis = [float(np.log10(tail_p_values(score, np.zeros(1), np.array([each]))[0])) for each in values]
        assert np.abs(np.diff(by_kurtosis)).max() < 0.3


def test_shapes_are_the_moments(rng):
    rows = rng.gamma(2.0, size=(500, 3))
    found = shape_of(np.stack([(rows**power).mean(axis=0) for power in (1, 2, 3, 4)]), np.full(3, 500.0), 1e-9)
    np.testing.assert_allclose(found.variance, rows.var(axis=0))
    np.testing.assert_allclose(found.skewness, skew(rows))
    np.testing.assert_allclose(found.kurtosis, kurtosis(rows))
    assert found.at([1]).variance == found.variance[1]


def test_what_does_not_vary_says_nothing():
    found = shape_of(np.array([[2.0], [4.0], [8.0], [16.0]]), np.array([9.0]), 1e-9)
    assert found.kurtosis == np.inf
    assert taper(found.n_rows, found.kurtosis) == 0.0


def test_a_rarer_indicator_is_heavier():
    def of_indicator(share):
        return shape_of(np.array([[share]] * 4), np.array([1_000.0]), 1e-9)

    common, rare = of_indicator(0.02), of_indicator(0.002)
    heavier = common.heavier(common.variance / rare.variance)
    assert heavier.kurtosis == pytest.approx(rare.kurtosis, rel=0.1)
    assert heavier.skewness == pytest.approx(rare.skewness, rel=0.1)


def test_shapes_have_a_form():
    shape = EntryShape(*(np.ones(3) for _ in range(4)))
    shape.check_shape((3,))
    with pytest.raises(StorageError, match="the shape of entries"):
        shape.check_shape((4,))


@pytest.mark.parametrize(("m", "n"), [(90, 900), (900, 90)])
def test_entries_of_skew_means_hold_their_level(rng, m, n):
    """Differences of means of squares: one gamma tail is long, and the other is no longer than a normal one."""
    squares = shape_of(np.array([[1.0], [3.0], [15.0], [105.0]]), np.array([1e6]), 1e-9)
    difference = (rng.normal(size=(3_000, n)) ** 2).mean(axis=1) - (rng.normal(size=(3_000, m)) ** 2).mean(axis=1)
    shape = squares.at(np.zeros(3_000, dtype=int))
    found = entries_of(difference, shape, np.full(3_000, m), np.full(3_000, n)).p_values()
    assert 0.001 < (found < 0.01).mean() < 0.02
    assert 0.03 < (found < 0.05).mean() < 0.065


def test_too_few_rows_are_no_entry():
    shape = EntryShape(np.ones(1), np.zeros(1), np.zeros(1), np.full(1, 1e6))
    assert entries_of(np.ones(1), shape, np.array([100.0]), np.array([7.0])).weights == 0.0
    assert entries_of(np.ones(1), shape, np.array([100.0]), np.array([9.0])).weights == 1.0


def test_means_of_columns_that_are_rarely_seen_together_go_together_less():
    seen = np.array([[100.0, 25.0], [25.0, 25.0]])
    np.testing.assert_allclose(attenuation(seen), [[1.0, 0.5], [0.5, 1.0]])


def test_a_ridge_falls_with_the_rows():
    assert ridge(10, 100.0) > ridge(10, 101.0) > ridge(9, 101.0) > ridge(0, 1.0) > 0.0
