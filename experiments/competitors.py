"""The competitors and the library's own detector on one reference: complete, and with missing values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import gapdrift as gd
from experiments.baselines import MMD, Baseline, FittedBaseline, FriedmanRafsky, MeanEmbedding, QuantTree, Rng
from experiments.protocols import Protocol
from experiments.samples import Sample, fill, fit_iterative
from gapdrift.models.imputation import FittedImputer, impute

__all__ = ["COMPETITORS", "GROUPS", "OURS", "Competitors", "fit_competitors", "make_baselines"]

COMPETITORS = ("MWW", "QuantTree", "ME", "MMD")
"""Rows of the paper's Tables 4 and 5 beside its own."""

OURS = "DriftDetector"

GROUPS = {"QuantTree-ME-MMD": ("QuantTree", "ME", "MMD"), "MWW": ("MWW",), OURS: (OURS,)}
"""Methods that are run together; MWW takes longer than the others."""


def make_baselines(protocol: Protocol, n_rows: int) -> dict[str, Baseline]:
    """The four competitors, with or without the peculiarities of the authors' scripts."""
    return {
        "MWW": FriedmanRafsky.as_published() if protocol.near_neighbours else FriedmanRafsky(),
        "QuantTree": QuantTree.as_published(n_rows) if protocol.fixed_threshold else QuantTree(n_bins=n_rows // 50),
        "ME": MeanEmbedding.as_published() if protocol.reused_rows else MeanEmbedding(),
        "MMD": MMD.as_published() if protocol.kept_null else MMD(),
    }


@dataclass(frozen=True)
class Competitors:
    """Methods fitted on one reference.

    Parameters
    ----------
    complete, missing : mapping of str to FittedBaseline
        Fitted on the complete reference and on the imputed one.
    detectors : pair of DriftDetector, or None
        Fitted on the complete reference and on the one with missing values.
    imputer : FittedImputer
        Fitted on the reference.
    protocol : Protocol
    """

    complete: Mapping[str, FittedBaseline]
    missing: Mapping[str, FittedBaseline]
    detectors: tuple[gd.DriftDetector, gd.DriftDetector] | None
    imputer: FittedImputer
    protocol: Protocol

    def alarms(self, window: Sample, rng: np.random.Generator, alpha: float) -> dict[str, bool]:
        """Whether each method finds drift in a window, complete and with missing values."""
        filled = fill(window.with_missing, self.imputer, self.protocol)
        found = {}
        for name in self.complete:
            found[f"{name} complete"] = self.complete[name].test(window.complete, rng).rejects(alpha)
            found[f"{name} missing"] = self.missing[name].test(filled, rng).rejects(alpha)
        if self.detectors is not None:
            complete, with_missing = self.detectors
            found[f"{OURS} complete"] = bool(complete.test(window.complete, alpha=alpha).drift)
            found[f"{OURS} missing"] = bool(with_missing.test(window.with_missing, alpha=alpha).drift)
        return found


def fit_competitors(
    reference: Sample,
    protocol: Protocol,
    rng: np.random.Generator,
    names: Sequence[str],
    first: Sample,
    script_seed: int = 0,
) -> Competitors:
    """Methods fitted on one reference.

    Parameters
    ----------
    reference : Sample
    protocol : Protocol
    rng : numpy.random.Generator
    names : sequence of str
        Out of `COMPETITORS` and "DriftDetector".
    first : Sample
        A first window, whose kernel width and permutations the published MMD keeps.
    script_seed : int, default 0
        Seed of the published QuantTree: 0 in the scripts of Experiment 3, 1 in those of Experiment 4.
    """
    made = make_baselines(protocol, len(reference.complete))
    baselines = {name: baseline for name, baseline in made.items() if name in names}
    imputer = fit_iterative(reference.with_missing, rng)
    filled = impute(imputer, reference.with_missing)
    first_filled = fill(first.with_missing, imputer, protocol)
    detectors = None
    if OURS in names:
        seed = int(rng.integers(2**31))
        detectors = (
            gd.DriftDetector(random_state=seed).fit(reference.complete),
            gd.DriftDetector(random_state=seed).fit(reference.with_missing),
        )
    state: Rng = np.random.RandomState(script_seed) if protocol.fixed_threshold else rng
    # The tree of the imputed reference is drawn first, as in the scripts.
    missing = {name: baseline.fit(filled, state, first_filled) for name, baseline in baselines.items()}
    return Competitors(
        {name: baseline.fit(reference.complete, state, first.complete) for name, baseline in baselines.items()},
        missing,
        detectors,
        imputer,
        protocol,
    )
