import numpy as np
import pytest

from experiments.distributions import DRIFTS
from experiments.protocols import PROTOCOLS, QUIRKS
from experiments.samples import draw_drift, fill, fit_iterative, hide

PUBLISHED, SOUND = PROTOCOLS["published"], PROTOCOLS["sound"]


def test_the_two_protocols_differ_in_every_quirk():
    assert all(getattr(PUBLISHED, quirk) for quirk in QUIRKS)
    assert not any(getattr(SOUND, quirk) for quirk in QUIRKS)


@pytest.mark.parametrize(("severity", "shift"), [(0, 0), (3, 0), (4, 1), (7, 1), (8, 2), (10, 2)])
def test_the_published_poisson_shift_is_truncated(severity, shift):
    plain = draw_drift("poisson-mean", 0, 2_000, PUBLISHED, np.random.default_rng(1)).complete
    moved = draw_drift("poisson-mean", severity, 2_000, PUBLISHED, np.random.default_rng(1)).complete
    np.testing.assert_array_equal(moved[:, :2] - plain[:, :2], shift)
    np.testing.assert_array_equal(moved[:, 2:], plain[:, 2:])


def test_the_sound_poisson_shift_is_not():
    plain = draw_drift("poisson-mean", 0, 100, SOUND, np.random.default_rng(1)).complete
    moved = draw_drift("poisson-mean", 3, 100, SOUND, np.random.default_rng(1)).complete
    np.testing.assert_allclose(moved[:, :2] - plain[:, :2], 0.75)


@pytest.mark.parametrize("kind", DRIFTS)
def test_gaps_are_where_they_should_be(kind, rng):
    columns = list(DRIFTS[kind].missing_columns)
    exact = draw_drift(kind, 5, 500, PUBLISHED, rng)
    assert set(np.isnan(exact.with_missing).sum(axis=0)[columns]) == {100}
    by_chance = draw_drift(kind, 5, 500, SOUND, rng)
    assert len(set(np.isnan(by_chance.with_missing).sum(axis=0)[columns])) > 1
    for sample in (exact, by_chance):
        seen = ~np.isnan(sample.with_missing)
        assert seen[:, [i for i in range(seen.shape[1]) if i not in columns]].all()
        np.testing.assert_array_equal(sample.with_missing[seen], sample.complete[seen])


def test_filling_apart_and_together(rng):
    rows = rng.normal(size=(300, 3)) @ np.array([[1, 0.9, 0], [0, 0.4, 0], [0, 0, 1]])
    reference, window = (hide(side, (0, 1, 2), SOUND, rng) for side in (rows, rows + 5.0))
    imputer = fit_iterative(reference, rng)
    together, apart = (fill(window, imputer, protocol) for protocol in (SOUND, PUBLISHED))
    gone = np.isnan(window)
    np.testing.assert_array_equal(together[~gone], apart[~gone])
    # What was learned on the reference pulls the cells of a moved window towards the reference.
    assert together[gone].mean() < apart[gone].mean() - 0.5
    assert np.isfinite(together).all()
