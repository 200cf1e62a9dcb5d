import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gapdrift.detectors.mdlfwf.membership import MEMBERSHIPS, fuzzy_weights
from tests import naive


@st.composite
def distance_tables(draw):
    n_bins = draw(st.integers(1, 8))
    seed = draw(st.integers(0, 2**32 - 1))
    scale = draw(st.sampled_from([1e-6, 1.0, 1e6]))
    return np.random.default_rng(seed).random((draw(st.integers(0, 6)), n_bins)) * scale


@given(
    distances=distance_tables(),
    error=st.floats(1e-3, 10.0),
    membership=st.sampled_from(sorted(MEMBERSHIPS)),
    top_q=st.none() | st.integers(1, 10),
)
def test_equals_the_equations(distances, error, membership, top_q):
    fast = fuzzy_weights(distances, error, membership=membership, top_q=top_q)
    slow = np.array(naive.weights(distances.tolist(), error, membership, top_q)).reshape(distances.shape)
    np.testing.assert_allclose(fast, slow, rtol=0, atol=1e-12)


@given(distances=distance_tables(), error=st.floats(0.0, 1e300), membership=st.sampled_from(sorted(MEMBERSHIPS)))
def test_rows_sum_to_one(distances, error, membership):
    weights = fuzzy_weights(distances, error, membership=membership, top_q=3)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-12)
    assert (weights >= 0).all()
    assert ((weights > 0).sum(axis=1) <= 3).all()


def test_far_bins_get_nothing():
    weights = fuzzy_weights(np.array([[1.0, 1.2, 4.0, 9.0]]), 0.5)
    np.testing.assert_allclose(weights, [[1 / 1.64, 0.64 / 1.64, 0, 0]])


@pytest.mark.parametrize("membership", sorted(MEMBERSHIPS))
def test_no_error_is_crisp(membership):
    distances = np.array([[3.0, 1.0, 2.0], [5.0, 7.0, 6.0]])
    expected = fuzzy_weights(distances, 0.0, membership="crisp")
    np.testing.assert_array_equal(fuzzy_weights(distances, 0.0, membership=membership), expected)


def test_top_1_is_crisp():
    distances = np.random.default_rng(0).random((20, 5))
    expected = fuzzy_weights(distances, 0.3, membership="crisp")
    np.testing.assert_array_equal(fuzzy_weights(distances, 0.3, top_q=1), expected)


def test_error_of_its_own_for_each_row():
    distances = np.array([[1.0, 2.0], [1.0, 2.0]])
    both = fuzzy_weights(distances, np.array([0.4, 2.0]))
    np.testing.assert_array_equal(both[:1], fuzzy_weights(distances[:1], 0.4))
    np.testing.assert_array_equal(both[1:], fuzzy_weights(distances[1:], 2.0))


def test_equally_near_bins_share():
    np.testing.assert_array_equal(fuzzy_weights(np.array([[1.0, 1.0]]), 0.5), [[0.5, 0.5]])
