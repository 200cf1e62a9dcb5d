import numpy as np
import pytest
from scipy.special import ndtri

from gapdrift.inference.columns import (
    category_counts,
    category_test,
    number_test,
    outermost_test,
    rare_categories_test,
    tallied_counts,
    with_many_categories,
)

N_CODES = 100
SCORES = ndtri((np.arange(N_CODES) + 0.5) / N_CODES)


def histogram(values):
    """Counts of codes of numbers between 0 and 1."""
    return np.bincount((np.clip(values, 0.0, 0.999) * N_CODES).astype(int), minlength=N_CODES).astype(float)


def tally(values):
    names, counts = np.unique(values, return_counts=True)
    return {str(name): int(count) for name, count in zip(names, counts, strict=True)}


@pytest.mark.parametrize(("m", "n"), [(500, 500), (40, 2_000), (1_000, 30)])
def test_numbers_hold_their_level(rng, m, n):
    found = [number_test(histogram(rng.random(m)), histogram(rng.random(n)), SCORES, 0.0) for _ in range(400)]
    p_values = np.array([each.p_value for each in found])
    assert 0.01 < (p_values < 0.05).mean() < 0.09
    assert (p_values < 0.001).mean() <= 0.01


@pytest.mark.parametrize(
    "change", [lambda x: x**1.4, lambda x: 0.5 + 0.7 * (x - 0.5), lambda x: np.where(x < 0.1, 0.505, x)]
)
def test_changes_of_numbers_are_found(rng, change):
    before, after = histogram(rng.random(1_000)), histogram(change(rng.random(500)))
    found = number_test(before, after, SCORES, 0.0)
    assert found.p_value < 1e-5
    assert found.p_value < 1e-3 * number_test(before, after, SCORES, 4.0).p_value
    assert found.can_alarm


def test_the_effect_of_a_number_is_in_standard_deviations(rng):
    scores = np.linspace(-4.0, 4.0, 161)
    law = np.exp(-0.5 * scores**2)
    moved, wider = np.exp(-0.5 * (scores - 0.5) ** 2), np.exp(-0.5 * (scores / 1.25) ** 2)
    assert number_test(1e4 * law, 1e4 * moved, scores, 0.0).effect_size == pytest.approx(0.5, abs=0.01)
    assert number_test(1e4 * law, 1e4 * wider, scores, 0.0).effect_size == pytest.approx(0.25, abs=0.01)


def test_nothing_to_compare():
    two, few = np.array([50.0, 50.0]), np.array([2.0, 2.0])
    assert number_test(two, few, np.array([-1.0, 1.0]), 0.0) is None
    assert number_test(np.array([50.0, 0.0]), np.array([50.0, 0.0]), np.array([-1.0, 1.0]), 0.0) is None
    assert category_test(two, few, 0.0) is None


def test_outermost_values_are_counted_exactly():
    """Of all orders of five values of one side and eight of the other, the two largest are of the first."""
    before, after = np.array([0.0, 8.0, 0.0]), np.array([1.0, 2.0, 2.0])
    # At the upper end 2 of 13: 5/13 4/12; three of them 5/13 4/12 3/11. At the lower end 1 of 13.
    upper = 2.0 * 0.5 * (20.0 / 156.0 + 60.0 / 1716.0)
    assert outermost_test(before, after)[0] == pytest.approx(1.0 - (1.0 - upper) ** 2)
    assert outermost_test(after, before)[0] == pytest.approx(1.0 - (1.0 - upper) ** 2)


@pytest.mark.parametrize(("m", "n"), [(200, 200), (1_000, 50)])
def test_categories_hold_their_level(rng, m, n):
    shares = np.array([0.5, 0.3, 0.1, 0.06, 0.03, 0.01])
    found = [
        category_test(rng.multinomial(m, shares).astype(float), rng.multinomial(n, shares).astype(float), 0.0)
        for _ in range(600)
    ]
    assert 0.015 < np.mean([each.p_value < 0.05 for each in found]) < 0.085


def test_the_effect_of_a_category_is_the_share_that_changed():
    found = category_test(np.array([500.0, 500.0, 0.0]), np.array([500.0, 300.0, 200.0]), 0.0)
    assert found.effect_size == pytest.approx(0.2)
    assert found.p_value < 1e-9


def test_categories_that_one_side_has_once_or_never_have_cells_of_their_own():
    before, after = np.array([5.0, 0.0, 2.0, 1.0]), np.array([4.0, 3.0, 2.0, 0.0])
    counts = category_counts(("a", "b"), (before, after), ({"b": 1}, {"new": 2}))
    assert [side.tolist() for side in counts] == [[5.0, 1.0, 0.0], [4.0, 3.0, 2.0]]
    plain = category_counts(("a", "b"), (before, after), (None, None))
    assert [side.tolist() for side in plain] == [[5.0, 0.0, 3.0], [4.0, 3.0, 2.0]]


def test_tallies_are_laid_beside_each_other():
    before, after = tallied_counts({"a": 2, "b": 1}, {"b": 3, "c": 4})
    assert dict(zip(before.tolist(), after.tolist(), strict=True)) == {2.0: 0.0, 1.0: 3.0, 0.0: 4.0}


def zipf(n, rng, n_categories=400, shift=0):
    weights = 1.0 / (1.0 + np.arange(n_categories))
    return tally(rng.choice(n_categories, n, p=weights / weights.sum()) + shift)


@pytest.mark.parametrize(("m", "n"), [(2_000, 1_000), (500, 3_000)])
def test_many_categories_hold_their_level(rng, m, n):
    found = [rare_categories_test(zipf(m, rng), zipf(n, rng)).p_value for _ in range(300)]
    assert np.mean(np.array(found) < 0.05) < 0.09
    assert np.mean(np.array(found) < 0.001) < 0.012


def test_new_ones_of_many_categories_are_found(rng):
    found = rare_categories_test(zipf(2_000, rng), zipf(500, rng, shift=300))
    assert found.p_value < 1e-9
    assert found.effect_size > 0.3
    assert rare_categories_test({"a": 5, "b": 5}, {"a": 5}) is None


def test_many_categories_count_beside_frequent_ones(rng):
    frequent = category_test(np.array([500.0, 500.0]), np.array([260.0, 240.0]), 0.0)
    before, after = zipf(2_000, rng), zipf(500, rng, shift=300)
    both = with_many_categories(frequent, ("other",), (before, after), 0.0)
    assert both.p_value == pytest.approx(2.0 * rare_categories_test(before, after).p_value, rel=0.01)
    assert with_many_categories(frequent, tuple(before), (before, after), 0.0) is frequent
    assert with_many_categories(frequent, (), (None, after), 0.0) is frequent
