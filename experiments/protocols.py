"""How the experiments are run: as the authors' scripts do, or as a test should be judged."""

from dataclasses import dataclass, replace

__all__ = ["PROTOCOLS", "Protocol", "protocol_of"]


@dataclass(frozen=True)
class Protocol:
    """How an experiment is run; each peculiarity of the authors' scripts is a setting.

    Parameters
    ----------
    name : str
    one_reference : bool
        All windows are compared with one reference, so that the rate of false alarms is that of this reference.
    seeded_draws : bool
        The samples of Experiments 1 to 3, and the Arabic and insect windows of Experiment 4, are those of the scripts,
        drawn with their seeds (`experiments.scripted`, `experiments.real`).
    truncated_poisson : bool
        The shift of the Poisson means is truncated: severities 0 to 3 are no drift, 4 to 7 are +1, 8 to 10 are +2.
    exact_missing_counts : bool
        Each sample has the same number of missing cells in a column, instead of each cell being missing by chance.
    repeated_missing_rows : bool
        All windows of the real data have their missing values in the same rows.
    impute_each_sample : bool
        Each sample is imputed by an imputer fitted on itself, instead of one fitted on the reference.
    all_pairs : bool
        Distances are learned on every pair of rows, instead of a sample of 10,000.
    ordered_pairs : bool
        Pairs are taken in both orders and a row is paired with itself; folds are of pairs instead of rows
        (`experiments.learning`).
    refit_imputers : bool
        The imputers behind the learned distances are fitted again on the incomplete rows of each window.
    unclipped : bool
        Eq. (4) as printed: triangles that do not meet have a negative overlap, whose square counts as a large one.
    scripted_bins : bool
        K-means starts as in scikit-learn of 2019 with seed 0 (`experiments.clustering`).
    kept_null : bool
        The null distribution of MMD is that of the first window for all windows, with the scripts' permutations.
    near_neighbours : bool
        The spanning tree of MWW is taken from a graph of the ten nearest neighbours.
    fixed_threshold : bool
        QuantTree alarms above 33.4 (500 rows, 10 bins) or 59.96 (1,000 rows, 20 bins); its trees are those of the
        scripts' seed, first the tree of the imputed reference, then that of the complete one.
    reused_rows : bool
        ME chooses its locations on a tenth of the rows, by gradient ascent from the scripts' seeds, and tests on all of
        them in pairs, without regularisation.
    """

    name: str
    one_reference: bool
    seeded_draws: bool
    truncated_poisson: bool
    exact_missing_counts: bool
    repeated_missing_rows: bool
    impute_each_sample: bool
    all_pairs: bool
    ordered_pairs: bool
    refit_imputers: bool
    unclipped: bool
    scripted_bins: bool
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
    """Protocol by its name; with the ending "-quick" it learns distances on a sample of pairs, for a trial run.

    Examples
    --------
    >>> protocol_of("published-quick").all_pairs, protocol_of("published").all_pairs
    (False, True)
    """
    plain = PROTOCOLS[name.removesuffix("-quick")]
    return replace(plain, name=name, all_pairs=False) if name.endswith("-quick") else plain
