import numpy as np
from scipy.special import ndtr

from gapdrift.inference.blocks import largest
from tests.inference.conftest import draw, hide, is_uniform


def p_values(compared):
    found = compared.location
    return largest(found.entries, compared.null.shares[0], found.explained), found.together.p_value


def test_means_hold_their_level(unchanged):
    one, together = np.array([p_values(each) for each in unchanged]).T
    assert is_uniform(one)
    assert is_uniform(together)


def test_a_mean_that_moved_is_found_in_its_entry(fit, rng):
    window = draw(500, rng)
    window[:, 3] += 0.6
    compared = fit(draw(500, rng)).compare(window)
    assert np.abs(compared.location.entries.scores).argmax() == 3
    assert max(p_values(compared)) < 1e-4
    # In standard deviations of a row: its columns have a variance of 1 + 0.7^2.
    assert abs(compared.location.difference[3] - 0.6 / np.sqrt(1.49)) < 0.15


def selected(n_rows, rng, slope, shift=0.0):
    """A second column that follows the first one in a straight line, and is missing at its large values."""
    first = rng.normal(size=n_rows)
    second = 0.8 * first + 0.6 * rng.normal(size=n_rows)
    other = hide(rng.normal(size=(n_rows, 1)), rng)[:, 0]
    hidden = rng.random(n_rows) < ndtr(-0.7 + slope * first)
    return np.column_stack([first, np.where(hidden, np.nan, second + shift), other])


def test_means_are_adjusted_for_cells_that_are_missing_at_values_of_others(fit, rng):
    """Without an adjustment the second column is lower by a third of a standard deviation."""
    reference = fit(selected(2_000, rng, 0.0))
    compared = [reference.compare(selected(2_000, rng, 1.5)) for _ in range(5)]
    adjusted = np.array([each.location.difference[1] for each in compared])
    plain = np.array([(each.sides[1].means[1] - each.sides[0].means[1]) / 32.0 for each in compared])
    assert plain.max() < -0.2
    assert np.abs(adjusted).max() < 0.1
    assert min(min(p_values(each)) for each in compared) > 1e-3


def test_a_shift_is_found_in_spite_of_it(fit, rng):
    compared = fit(selected(2_000, rng, 0.0)).compare(selected(2_000, rng, 1.5, shift=0.5))
    assert p_values(compared)[0] < 1e-4
    assert 0.3 < compared.location.difference[1] < 0.6


def test_nothing_known_is_not_tested(fit, rng):
    rows = np.column_stack([np.full(100, 3.0), np.full(100, np.nan)])
    assert fit(rows).compare(rows).location is None
