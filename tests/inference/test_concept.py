import numpy as np

from gapdrift.inference.concept import Scores


def test_scores_given_others_are_a_partial_regression():
    """U is N d with coefficients that differ by d, and given others tells of its own coefficient alone."""
    rng = np.random.default_rng(0)
    known = np.cov(rng.normal(size=(3, 50)) + rng.normal(size=50))
    scores = Scores(known @ [0.0, 2.0, 1.0], known, known, 100.0)
    alone = scores.given(np.array([1]), np.array([0, 2]))
    np.testing.assert_allclose(alone.difference / alone.known[0, 0], [2.0])
