"""What a reference knows of the statistics of its rows: their shape, and how they go together where nothing changed."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gapdrift._threads import limit_threads
from gapdrift._typing import Indices, Mask, Matrix, Vector
from gapdrift.counting.counter import Counter, RowStatistics
from gapdrift.counting.profile import Profile
from gapdrift.counting.statistics import Layout, missing_statistics, power_means, value_statistics
from gapdrift.inference.contrast import ROWS_PER_KURTOSIS, SMALLEST_VARIANCE, Shape
from gapdrift.inference.null import Null, correlation_of, effective_sample_size, shape_of
from gapdrift.inference.observed import ROWS_PER_HEAVINESS, CrossedShape, describe_crossed
from gapdrift.inference.observed_null import ObservedNull, describe_observed
from gapdrift.inference.parts import MAX_CORRELATED
from gapdrift.models.partition import ObservedBins, observe_bins
from gapdrift.tables.encoding import ONE_HOT, Encoded
from gapdrift.tables.histograms import cells_of_rows

__all__ = ["Description", "describe_statistics", "known_entries", "known_missing"]

MAX_DESCRIBED = 4_096
"""Rows that tell the correlation of the statistics, at most."""

PRODUCT_KURTOSIS, SQUARE_KURTOSIS = 6.0, 12.0
"""Excess kurtosis of the product of two independent Gaussian scores, and of the square of one."""

FLAT = 0.2
"""Variance of a product over its squared mean below which it says nothing of its own."""

LEAST_SEEN = 0.1
"""Share of the learned variance of a column that the rows that are compared must show, at least."""


class Description(NamedTuple):
    """Shape and correlation of the statistics of the rows that windows are compared with.

    Their sums as well, where all of them were looked at one by one.
    """

    shape: Shape
    values_null: Null
    missing_null: Null
    observed_null: ObservedNull
    crossed_shape: CrossedShape
    observed_bins: ObservedBins
    sums: dict[str, NDArray[np.float64]] | None


def describe_statistics(profile: Profile, counter: Counter, rows: Encoded, rng: np.random.Generator) -> Description:
    """Description of the statistics of some rows, or of a sample of them.

    Parameters
    ----------
    profile : Profile
    counter : Counter
    rows : Encoded
        Rows that windows are compared with.
    rng : numpy.random.Generator
    """
    layout, n_rows, few = profile.layout, len(rows), len(rows) <= MAX_DESCRIBED
    if not few:
        rows = rows.take(rng.choice(len(rows), MAX_DESCRIBED, replace=False, shuffle=False))
    found = counter.rows(rows, hidden=profile.direct)
    missing = missing_statistics(layout, rows.missing, profile.missing_paired)
    powers = power_means(layout, found.location, profile.paired, found.bins, missing)
    shape = _shape(profile, powers, _hardly_vary(profile, rows), n_rows, len(rows))
    statistics = _known_statistics(profile, found)
    values = Null(known_entries(profile), correlation_of(statistics), _n_effective(profile, statistics, shape))
    entries = known_missing(layout)
    # Rows that miss much tell the correlation of the rates, and may be few.
    n_telling = effective_sample_size(missing[:, : layout.rates.stop - layout.rates.start])
    of_missing = Null(entries, correlation_of(missing[:, entries - layout.rates.start]), n_telling)
    crossed = describe_crossed(counter.crossed, found.observed)
    cells = cells_of_rows(rows, profile.owner, counter.histogram_axes)
    products = counter.crossed, crossed, found.observed
    # In single precision, sums by two threads differ in digits that a result shows.
    with limit_threads(1):
        observed = describe_observed(values, statistics, counter.histogram_axes, cells, products)
    seen = _observe(profile, rows, found.bins)
    return Description(shape, values, of_missing, observed, crossed, seen, found.sums if few else None)


def _observe(profile: Profile, rows: Encoded, memberships: Matrix) -> ObservedBins:
    """Observed cells of the rows in each bin, as normal scores."""
    scores = profile.scores.transform(rows.values)
    observed = ~np.isnan(scores)
    return observe_bins(memberships.T @ np.where(observed, scores, 0.0), memberships.T @ observed)


def _hardly_vary(profile: Profile, rows: Encoded) -> Mask:
    """Products that hardly vary where both cells are observed, such as the square of a flag: (products,).

    Missing cells make them vary, by whether a row has them: that is known, and leaves nothing but the error of what the
    hidden part adds. A flag that half of the rows have alarmed in 16 of 25 windows with fewer missing cells.
    """
    first, second = profile.layout.pairs
    scores = (profile.scores.transform(rows.values) - profile.mean)[:, profile.paired]
    observed = ~np.isnan(scores)
    scores, present = np.where(observed, scores, 0.0), observed.astype(float)
    n_rows = np.maximum((present.T @ present)[first, second], 1.0)
    mean, square = ((part.T @ part)[first, second] / n_rows for part in (scores, scores**2))
    return np.asarray(square - mean**2 < FLAT * mean**2)


def known_missing(layout: Layout) -> Indices:
    """Statistics of missingness whose correlation is learned: rates of more columns are taken as independent."""
    few = layout.rates.stop - layout.rates.start <= MAX_CORRELATED // 2
    return np.arange(layout.rates.start if few else layout.patterns.start, layout.patterns.stop)


def known_entries(profile: Profile) -> Indices:
    """Statistics of the values whose correlation is learned: products of more columns are taken as independent."""
    layout = profile.layout
    if profile.direct:
        return np.arange(layout.values.stop)
    location = np.arange(layout.location.stop if layout.location.stop <= MAX_CORRELATED else 0)
    return np.concatenate([location, np.arange(layout.bins.start, layout.bins.stop)])


def _known_statistics(profile: Profile, rows: RowStatistics) -> Matrix:
    """These statistics of each row."""
    if profile.direct:
        return value_statistics(profile.layout, rows.location, rows.hidden, rows.bins)
    few = len(known_entries(profile)) > rows.bins.shape[1]
    return np.column_stack([rows.location, rows.bins]) if few else rows.bins


def _n_effective(profile: Profile, statistics: Matrix, shape: Shape) -> int:
    """Gaussian rows that would know the correlation of the products as well."""
    if not profile.direct:
        return len(statistics)
    block = profile.layout.dependence
    light = shape.kurtosis[block] < len(statistics) / ROWS_PER_KURTOSIS
    return effective_sample_size(statistics[:, block][:, light])


def _shape(profile: Profile, powers: Matrix, hardly_vary: Mask, n_rows: int, n_described: int) -> Shape:
    layout = profile.layout
    variance, skewness, kurtosis = shape_of(powers)
    indicator = np.zeros(layout.size, dtype=bool)
    low, unit_of_two = _two_scores(profile)
    # For now a column that was constant in the reference is one too, of any other value, with a share of none.
    constant = variance[layout.location] <= SMALLEST_VARIANCE
    indicator[layout.location] = profile.is_category | (unit_of_two > 0.0) | constant
    indicator[layout.rates.start : layout.patterns.stop - 1] = True
    unit, offset = np.ones(layout.size), np.zeros(layout.size)
    unit[layout.location] = np.where(profile.is_category, ONE_HOT, np.where(unit_of_two > 0.0, unit_of_two, 1.0))
    offset[layout.location] = profile.mean - low
    first, second = layout.pairs
    # Two rare values that never met would seem to vary little: their product is at least as heavy as they are.
    share = np.where(indicator, (powers[0] + offset) / unit, 0.5)
    heavy = _own_kurtosis(profile, powers[0], variance, kurtosis, share)[profile.paired] + 3.0
    kurtosis[layout.dependence] = np.maximum(kurtosis[layout.dependence], heavy[first] * heavy[second] - 3.0)
    # A few rows show less by chance: products would be tested that happen to vary little in the reference.
    least = np.where(first == second, SQUARE_KURTOSIS, PRODUCT_KURTOSIS)
    kurtosis[layout.dependence] = np.maximum(kurtosis[layout.dependence], least)
    degenerate = _degenerate(profile, powers[0], variance)
    degenerate[layout.dependence] |= hardly_vary
    # A number that the reference has once, or never, may be one of many others that are as rare: a column that is
    # nearly constant would be an indicator where it happens to have few of them. Its counts tell what there is to tell.
    observed = 1.0 - powers[0][layout.rates][profile.owner]
    rarer = np.minimum(share, 1.0 - share)[layout.location] * observed * n_described
    indicator[layout.location] &= profile.is_category | (rarer > 1.5)
    kurtosis[layout.location][~profile.is_category & (rarer <= 1.5)] = np.inf
    degenerate[layout.dependence] |= kurtosis[layout.dependence] * ROWS_PER_HEAVINESS > n_rows
    return Shape(skewness, kurtosis, indicator, unit, offset, degenerate)


def _own_kurtosis(profile: Profile, mean: Vector, variance: Vector, kurtosis: Vector, share: Vector) -> Vector:
    """Kurtosis of the scores of each column, at least that of values as rare as they were learned to be: (columns,).

    The rows that are compared, where they are others, may lack these values: what is left seems to vary little, and
    evenly.
    """
    layout = profile.layout
    variance, kurtosis, share = (array[layout.location] for array in (variance, kurtosis, share))
    observed = 1.0 - mean[layout.rates][profile.owner]
    # The scores of numbers were learned to have variance 1.
    unseen = ~profile.is_category & (variance < LEAST_SEEN * observed)
    of_share = 1.0 / np.maximum(share * (1.0 - share), 1e-9) - 6.0
    return np.minimum(np.where(unseen, np.inf, np.maximum(kurtosis, of_share)), 1e9)


def _two_scores(profile: Profile) -> tuple[Vector, Vector]:
    """Lower score, and distance to the higher one, of columns of numbers that have two values; 0 for all others.

    They are indicators of the second value. As numbers they would be judged by the kurtosis that the reference happens
    to show, which keeps the columns in which it happens to have that value often.
    """
    two = np.zeros((2, len(profile.owner)))
    for column, pair in enumerate(profile.scores.knots):
        if pair is not None and len(pair[1]) == 2:
            two[:, column] = pair[1][0], pair[1][1] - pair[1][0]
    return two[0], two[1]


def _degenerate(profile: Profile, mean: Vector, variance: Vector) -> Mask:
    """Products that say nothing of their own.

    The square of a column with two values hardly varies, so that noise of second order would rule it; products
    within one category repeat its frequencies.
    """
    block = profile.layout.dependence
    first, second = (profile.paired[places] for places in profile.layout.pairs)
    flat = (first == second) & (variance[block] < FLAT * mean[block] ** 2)
    flat |= (profile.owner[first] == profile.owner[second]) & profile.is_category[first]
    degenerate = np.zeros(len(mean), dtype=bool)
    degenerate[block] = flat
    return degenerate
