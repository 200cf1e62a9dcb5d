"""How the experiments are run: as the authors' scripts do, or as a test should be judged."""

from dataclasses import dataclass, replace

__all__ = ["PROTOCOLS", "Protocol", "protocol_of"]


@dataclass(frozen=True)
class Protocol:
    """What is done where the two ways differ; each quirk of the published one is a setting.

    Parameters
    ----------
    name : str
    one_reference : bool
        One reference for all windows, so that the rate of false alarms is that of this one reference.
    seeded_draws : bool
        Samples of Experiments 1 to 3 are those that the scripts draw, by their seeds (`experiments.scripted`).
    truncated_poisson : bool
        The shift of the Poisson means loses its decimals: severities 0 to 3 are no drift, 4 to 7 are +1, 8 to 10 +2.
    exact_gaps : bool
        The same number of gaps in each column of each sample, not each cell by chance.
    repeated_gaps : bool
        All windows of the real data have their gaps in the same rows.
    impute_apart : bool
        Each sample is filled by an imputer fitted on itself, not both by one fitted on the reference.
    all_pairs : bool
        Distances are learned on every pair of rows, not on a sample of 10,000.
    ordered_pairs : bool
        Both orders of a pair, and each row with itself; folds of pairs, not of rows (`experiments.learning`).
    refit_imputers : bool
        The imputers behind learned distances are fitted anew on the incomplete rows of each window.
    unclipped : bool
        Eq. (4) as printed: triangles that do not overlap have a negative overlap, which squared counts as a large one.
    kept_null : bool
        The permutations of MMD are those of the first window for all windows.
    near_neighbours : bool
        The spanning tree of MWW is that of a graph of ten nearest neighbours.
    fixed_threshold : bool
        QuantTree alarms above 33.4 (500 rows, 10 bins) or 59.96 (1,000 rows, 20 bins).
    reused_rows : bool
        ME chooses its locations on a tenth of the rows, and tests on all of them.
    """

    name: str
    one_reference: bool
    seeded_draws: bool
    truncated_poisson: bool
    exact_gaps: bool
    repeated_gaps: bool
    impute_apart: bool
    all_pairs: bool
    ordered_pairs: bool
    refit_imputers: bool
    unclipped: bool
    kept_null: bool
    near_neighbours: bool
    fixed_threshold: bool
    reused_rows: bool


QUIRKS = tuple(Protocol.__dataclass_fields__)[1:]

PROTOCOLS = {
    "published": Protocol("published", **dict.fromkeys(QUIRKS, True)),
    "sound": Protocol("sound", **dict.fromkeys(QUIRKS, False)),
}


def protocol_of(name: str) -> Protocol:
    """Protocol by its name; one that ends in "-quick" learns distances on a sample of pairs, to be seen working.

    Examples
    --------
    >>> protocol_of("published-quick").all_pairs, protocol_of("published").all_pairs
    (False, True)
    """
    plain = PROTOCOLS[name.removesuffix("-quick")]
    return replace(plain, name=name, all_pairs=False) if name.endswith("-quick") else plain
