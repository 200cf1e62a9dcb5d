import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, hypergeom, norm

from gapdrift.inference.counts import (
    at_least,
    chi_square,
    effective_tests,
    largest_cell,
    less_surely,
    merge_cells,
    mid_p,
    smooth,
)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=30), st.floats(1.0, 30.0), st.booleans())
def test_merged_cells_keep_every_value_and_have_enough(counts, least, ordered):
    counts = np.array(counts, dtype=float)
    groups = merge_cells(counts, least, ordered=ordered)
    assert set(groups.tolist()) == set(range(groups.max() + 1))
    merged = np.bincount(groups, counts)
    assert merged.sum() == counts.sum()
    assert len(merged) == 1 or ((merged >= least) | (merged == 0.0)).all()
    assert not ordered or (np.diff(groups) >= 0).all()


@pytest.mark.parametrize(("m", "n"), [(60, 30), (1_000, 40), (20, 500)])
def test_fishers_exact_test_in_its_mid_p_form(m, n):
    total = 12
    for after in range(max(0, total - m), min(total, n) + 1):
        law = hypergeom(m + n, total, n)
        tails = law.sf(after) + 0.5 * law.pmf(after), law.cdf(after) - 0.5 * law.pmf(after)
        found = mid_p(np.array([float(total - after)]), np.array([float(after)]), float(m), float(n))
        assert found[0] == pytest.approx(min(2.0 * min(tails), 1.0), rel=0.25, abs=1e-9)
        assert at_least(np.array([float(after)]), np.array([float(total)]), n, m + n) == pytest.approx(
            law.sf(after - 1), rel=0.1, abs=1e-6
        )


def test_chi_square_is_that_of_the_table(rng):
    before, after = rng.poisson(20.0, size=(2, 6)).astype(float)
    expected = chi2_contingency(np.stack([before, after])).pvalue
    assert chi_square(before, after) == pytest.approx(expected)
    assert chi_square(np.append(before, 0.0), np.append(after, 0.0)) == pytest.approx(expected)
    assert chi_square(np.array([5.0]), np.array([9.0])) == 1.0


@pytest.mark.parametrize("test", [chi_square, largest_cell, lambda *cells: smooth(*cells)[0], lambda *c: smooth(*c)[1]])
def test_each_test_of_cells_holds_its_level(rng, test):
    shares = np.array([0.3, 0.2, 0.2, 0.15, 0.1, 0.05])
    found = np.array([test(*rng.multinomial([300, 200], shares).astype(float)) for _ in range(1_500)])
    assert (found < 0.05).mean() < 0.075
    assert (found < 0.01).mean() < 0.02
    assert found.mean() == pytest.approx(0.5, abs=0.07)


def test_a_mean_that_moves_shows_in_the_first_of_the_smooth_tests():
    before, after = np.array([40.0, 30.0, 20.0, 10.0]), np.array([10.0, 20.0, 30.0, 40.0])
    assert smooth(before, after)[0] < 1e-9
    assert smooth(before, before) == pytest.approx([1.0, 1.0])
    assert smooth(np.ones(1), np.ones(1)) == [1.0, 1.0]


def test_more_cells_are_worth_more_tests():
    for is_number in (True, False):
        found = [effective_tests(n, is_number=is_number) for n in (2, 3, 5, 7, 20, 32, 100, 1_000)]
        assert found[0] == 1.0
        assert found == sorted(found)


def test_what_is_explained_is_taken_off_in_standard_deviations():
    p_values = 2.0 * norm.sf(np.array([1.0, 5.0]))
    np.testing.assert_allclose(less_surely(p_values, 2.0), [1.0, 2.0 * norm.sf(3.0)])
    assert less_surely(p_values, 0.0).tolist() == p_values.tolist()
