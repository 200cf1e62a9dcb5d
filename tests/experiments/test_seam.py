import numpy as np
import pytest
from scipy.stats import binom, norm

from experiments.baselines import MMD, FriedmanRafsky, MeanEmbedding, QuantTree
from gapdrift.errors import InputError, ParameterError

SURE = 1e-3
"""How often chance alone may break a bound."""
ALL = {
    "MMD": MMD(permutations=99),
    "MMD, first width": MMD(permutations=99, width="first"),
    "MMD published": MMD.as_published(),
    "Friedman-Rafsky": FriedmanRafsky(),
    "Friedman-Rafsky, neighbours": FriedmanRafsky(graph="knn"),
    "Friedman-Rafsky published": FriedmanRafsky.as_published(),
    "QuantTree": QuantTree(n_bins=5),
    "QuantTree, axes": QuantTree(n_bins=5, pca=True),
    "ME": MeanEmbedding(n_locations=2),
    "ME published": MeanEmbedding.as_published(),
}
PAIRED = [ALL["MMD published"], ALL["ME published"]]
"""Settings that take rows of reference and first window in pairs."""
SOUND = {name: ALL[name] for name in ("MMD", "Friedman-Rafsky", "Friedman-Rafsky, neighbours", "QuantTree")}
DEGENERATE = {
    "constant": (np.ones((80, 2)), np.ones((80, 2))),
    "two constants": (np.ones((80, 2)), np.zeros((80, 2))),
    "one column": (np.arange(80.0)[:, None], np.arange(80.0)[:, None] + 0.5),
    "far apart": (np.arange(160.0).reshape(80, 2), np.arange(160.0).reshape(80, 2) + 1e9),
    "equal samples": (np.arange(160.0).reshape(80, 2), np.arange(160.0).reshape(80, 2)),
    "constant column": (np.c_[np.arange(80.0), np.ones(80)], np.c_[np.arange(80.0), np.ones(80)]),
    "levels": (np.arange(160.0).reshape(80, 2) % 2, np.arange(160.0).reshape(80, 2) % 3),
    "other size": (np.sin(np.arange(160.0)).reshape(80, 2), np.cos(np.arange(180.0)).reshape(90, 2)),
}


@pytest.mark.parametrize("samples", DEGENERATE.values(), ids=DEGENERATE)
@pytest.mark.parametrize("settings", ALL.values(), ids=ALL)
def test_p_value_is_above_0_and_at_most_1(settings, samples, rng):
    reference, window = samples
    if settings in PAIRED and len(reference) != len(window):
        with pytest.raises(InputError, match="expected as many"):
            settings.fit(reference, rng, first=window)
        return
    outcome = settings.fit(reference, rng, first=window).test(window, rng)
    assert np.isfinite(outcome.statistic)
    assert 0 < outcome.p_value <= 1


@pytest.mark.parametrize("settings", ALL.values(), ids=ALL)
def test_drift_is_found_and_no_drift_is_not(settings, rng):
    reference, first = rng.normal(size=(2, 150, 3))
    fitted = settings.fit(reference, rng, first=first)
    shifted = [fitted.p_value(rng.normal(size=(150, 3)) + 1.5, rng) for _ in range(3)]
    equal = [fitted.p_value(rng.normal(size=(150, 3)), rng) for _ in range(3)]
    assert max(shifted) <= 0.01 < np.median(equal)


@pytest.mark.parametrize("settings", ALL.values(), ids=ALL)
def test_same_seed_same_bits(settings):
    samples = np.random.default_rng(3).normal(size=(2, 120, 3))

    def run():
        rng = np.random.default_rng(7)
        return settings.fit(samples[0], rng, first=samples[1]).test(samples[1], rng)

    assert run() == run()


@pytest.mark.parametrize("settings", ALL.values(), ids=ALL)
def test_an_outcome_does_not_depend_on_windows_tested_before(settings):
    reference, first, other, window = np.random.default_rng(3).normal(size=(4, 120, 3))
    fitted = settings.fit(reference, np.random.default_rng(0), first=first)
    alone = fitted.test(window, np.random.default_rng(1))
    fitted.test(other, np.random.default_rng(2))
    assert fitted.test(window, np.random.default_rng(1)) == alone


@pytest.mark.parametrize("discrete", [False, True], ids=["continuous", "ties"])
@pytest.mark.parametrize("settings", SOUND.values(), ids=SOUND)
def test_false_alarms_hold(settings, discrete, rng):
    """Fresh samples every trial; with ties the nearest-neighbour graph and the tree must not know the samples."""
    trials, rejected = 300, 0
    for _ in range(trials):
        reference, window = rng.poisson(2, size=(2, 60, 2)) if discrete else rng.normal(size=(2, 60, 3))
        rejected += settings.fit(reference, rng).p_value(window, rng) <= 0.05
    assert rejected <= binom.ppf(1 - SURE, trials, 0.05)
    assert rejected >= binom.ppf(SURE, trials, 0.03)


@pytest.mark.parametrize("settings", ALL.values(), ids=ALL)
@pytest.mark.parametrize(
    ("window", "message"),
    [
        (np.full((80, 2), np.nan), "impute first"),
        (np.zeros((80, 3)), "3 columns, the reference has 2"),
        (np.zeros(80), "shape"),
        ([["a", "b"]] * 80, "not numbers"),
        (np.zeros((0, 2)), "shape"),
    ],
)
def test_bad_windows_are_told(settings, window, message, rng):
    reference = rng.normal(size=(80, 2))
    fitted = settings.fit(reference, rng, first=rng.normal(size=(80, 2)))
    with pytest.raises(InputError, match=message):
        fitted.p_value(window, rng)


@pytest.mark.parametrize(
    "make",
    [
        lambda: MMD(permutations=0),
        lambda: MMD(kernel="linear"),
        lambda: MMD(null="first"),
        lambda: FriedmanRafsky(graph="sparse"),
        lambda: FriedmanRafsky(graph="exact", zeros="lost"),
        lambda: QuantTree(n_bins=1),
        lambda: QuantTree(threshold=-1.0),
        lambda: QuantTree(n_bins=90).fit(np.zeros((80, 2)), np.random.default_rng(0)),
        lambda: QuantTree.as_published(700),
        lambda: MeanEmbedding(split="all"),
        lambda: MMD(width="first").fit(np.zeros((80, 2)), np.random.default_rng(0)),
        lambda: MeanEmbedding(locations="first").fit(np.zeros((80, 2)), np.random.default_rng(0)),
    ],
)
def test_bad_settings_are_told(make):
    with pytest.raises(ParameterError):
        make()


def test_a_far_window_has_a_positive_p_value(rng):
    """Phi of the score underflows to 0 long before this."""
    reference = rng.normal(size=(800, 1))
    outcome = FriedmanRafsky().fit(reference, rng).test(reference + 1e6, rng)
    assert norm.cdf(outcome.statistic) < 1e-300
    assert outcome.p_value > 0
