import numpy as np
import pytest
from scipy import stats

from gapdrift.inference.tails import fit_tail


def test_p_values_fall_as_scores_rise():
    scores = -np.log(np.random.default_rng(0).random(19))
    found = fit_tail(scores, 5.0).p_values(np.sort(np.concatenate([scores + 1e-9, [0.0, 4.0, 30.0, 1e6]])))
    assert np.all(np.diff(found) <= 1e-12)
    assert 0.0 < found[-1] < found[-2] < 1 / 20


def test_equal_scores_take_the_last_of_their_places():
    assert fit_tail(np.zeros(9), 5.0).p_values(np.zeros(1))[0] == 1.0


@pytest.mark.parametrize("n_scores", [10, 20, 100])
def test_exponential_scores_get_uniform_p_values(n_scores):
    rng = np.random.default_rng(n_scores)
    draws = rng.exponential(size=(2_000, n_scores + 1))
    found = np.array([fit_tail(draw[:-1], 5.0).p_values(draw[-1:])[0] for draw in draws])
    for level in (0.01, 0.05, 0.5):
        assert stats.binomtest(int((found < level).sum()), 2_000, level).pvalue > 1e-4 or (found < level).mean() < level


def test_scores_that_decline_slowly_are_not_called_unusual():
    rng = np.random.default_rng(3)
    draws = rng.exponential(size=(1_000, 21)) ** 2
    found = np.array([fit_tail(draw[:-1], 5.0).p_values(draw[-1:])[0] for draw in draws])
    assert 0.01 < (found < 0.05).mean() < 0.09


def test_own_p_values_are_those_among_the_others():
    scores = np.random.default_rng(4).exponential(size=400)
    own = fit_tail(scores, 5.0).own_p_values(scores)
    place = int(scores.argmax())
    others = fit_tail(np.delete(scores, place), 5.0).p_values(scores[place : place + 1])[0]
    assert own[place] == pytest.approx(others, rel=0.1)
    assert np.abs(np.sort(own) - (np.arange(400) + 0.5) / 400).max() < 0.05
