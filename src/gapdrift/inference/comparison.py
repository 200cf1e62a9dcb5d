"""Evidence of a window beside that of a reference, ready to be tested."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from gapdrift._typing import Mask, Matrix, Vector
from gapdrift.counting.evidence import Evidence
from gapdrift.counting.observed import CrossedSums
from gapdrift.counting.profile import N_AVERAGED, Profile
from gapdrift.counting.statistics import squares_of, sums_of
from gapdrift.inference.columns import ColumnTest, column_tests
from gapdrift.inference.contrast import SMALLEST_VARIANCE, Contrast, Sample, Shape, compare, covariance_of
from gapdrift.inference.extremes import with_extremes
from gapdrift.inference.levels import cell_counts, with_levels
from gapdrift.inference.mechanism import Mechanism, explained_by, mechanism_test
from gapdrift.inference.null import Null
from gapdrift.inference.observed import (
    CrossedShape,
    CrossedTest,
    crossed_test,
)
from gapdrift.inference.observed_null import ObservedNull
from gapdrift.tables.histograms import HistogramAxis

__all__ = [
    "Comparison",
    "MissingTogether",
    "ObservedTests",
    "make_comparison",
    "reference_error",
    "shares_of_pairs",
]

EQUAL_RATES = 0.02
"""Difference of the missing rates of a column below which they are treated as equal."""

EQUAL_BY_CHANCE = 4.0
"""Standard deviations of that difference below which they are treated as equal too."""

DIFFER_BY_CHANCE = 1e-3
"""Probability that any two columns, of many, are taken to be missing together on one side more than on the other."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Evidence of a window against that of a reference, ready to be tested.

    Parameters
    ----------
    profile : Profile
    reference, window : Evidence
    contrast : Contrast
        Of all statistics.
    cautious : Contrast
        The same, differences of values divided by how much more they vary than the sums imply (`reference_error`).
    values_null, missing_null : Null
    observed_null : ObservedNull
    observed : ObservedTests
    """

    profile: Profile
    reference: Evidence
    window: Evidence
    contrast: Contrast
    cautious: Contrast
    values_null: Null
    missing_null: Null
    observed_null: ObservedNull
    observed: "ObservedTests"

    @property
    def shares(self) -> tuple[Vector, Vector]:
        """Shares of the rows in each bin: reference, window."""
        return self._means("bins")

    @property
    def missing_rates(self) -> tuple[Vector, Vector]:
        """Share of missing cells of each input column: reference, window."""
        return self._means("missing")

    @cached_property
    def equal_rates(self) -> bool:
        """Whether the missing rates of all columns, and of all two of them, are equal, or differ by chance only."""
        one, two = self.missing_rates
        deviation = _rate_deviation(one, self.contrast.scale)
        each = bool(np.all(np.abs(one - two) <= np.maximum(EQUAL_RATES, EQUAL_BY_CHANCE * deviation)))
        return each and self._mean_rate_is_equal() and not self.missing_together.differ.any()

    @cached_property
    def missing_together(self) -> "MissingTogether":
        """Rows of reference and window that have both cells of each product."""
        return _missing_together(self.profile, self.reference, self.window)

    def _mean_rate_is_equal(self) -> bool:
        """Whether the mean rate of the columns whose missing cells vary most is equal, or differs by chance only.

        Where rows are few, no column by itself shows what all of them do.
        """
        sides, paired = (self.reference, self.window), self.profile.missing_paired
        if not len(paired):
            return True
        n_rows = self.reference.n_rows, self.window.n_rows
        sums = tuple(side.sums["missing"][paired] for side in sides)
        pairs = tuple(side.sums["missing_pairs"] for side in sides)
        covariance = covariance_of(n_rows, (sums[0], sums[1]), (pairs[0], pairs[1]))
        deviation = float(np.sqrt(max(float(covariance.mean()), 0.0) * self.contrast.scale))
        away = abs(float(np.mean(sums[0] / n_rows[0] - sums[1] / n_rows[1])))
        return away <= max(EQUAL_RATES, EQUAL_BY_CHANCE * deviation)

    def _means(self, name: str) -> tuple[Vector, Vector]:
        reference, window = self.reference, self.window
        return reference.sums[name] / reference.n_rows, window.sums[name] / window.n_rows

    def covariance(self, sums: str, products: str) -> Matrix:
        """Covariance of one row about the common mean, by the names of sums and of sums of products."""
        sides = self.reference, self.window
        first, second = (side.sums[sums] for side in sides)
        return covariance_of(
            (self.reference.n_rows, self.window.n_rows),
            (first, second),
            (self.reference.sums[products], self.window.sums[products]),
        )


@dataclass(frozen=True, eq=False)
class ObservedTests:
    """Tests of observed cells alone.

    Parameters
    ----------
    columns : list of ColumnTest or None
        Of each input column; None where too little is observed.
    crossed : CrossedTest
    mechanism : Mechanism
        Whether columns are missing at the same values of others as before.
    explained : (input columns,) array
        Standard deviations that a change of these values may explain in statistics of a column.
    """

    columns: list[ColumnTest | None]
    crossed: CrossedTest
    mechanism: Mechanism
    explained: Vector

    @property
    def tested(self) -> dict[int, ColumnTest]:
        """Tests of the columns of which anything is compared, by place."""
        return {place: test for place, test in enumerate(self.columns) if test is not None and test.can_alarm}


def make_comparison(
    profile: Profile,
    shapes: tuple[Shape, CrossedShape],
    nulls: tuple[Null, Null, ObservedNull],
    axes: tuple[HistogramAxis, ...],
    reference: Evidence,
    window: Evidence,
) -> Comparison:
    """Comparison of two sides.

    Parameters
    ----------
    profile : Profile
    shapes : pair of Shape and CrossedShape
    nulls : tuple of Null, Null and ObservedNull
        Of the statistics of values, of missingness and of observed cells.
    axes : tuple of HistogramAxis
    reference, window : Evidence
    """
    shape, crossed_shape = shapes
    sides = _sample_of(profile, reference), _sample_of(profile, window)
    contrast = compare(*sides, _as_rare_as_both(profile, shape, *sides))
    cautious = contrast.scaled(1.0 / reference_error(profile, reference, window))
    crossed = CrossedSums(profile.owner, profile.is_category, len(axes))
    mechanism = Mechanism.unchanged(len(axes))
    if crossed.size:
        n_rows = reference.n_rows, window.n_rows
        mechanism = mechanism_test(crossed, crossed_shape, reference.sums, window.sums, n_rows)
    explained = explained_by(mechanism)
    counts = cell_counts(axes, (reference.sums["cells"], reference.facts), (window.sums["cells"], window.facts))
    columns = column_tests(axes, counts, mechanism.of_own)
    columns = with_extremes(columns, axes, counts, (reference.facts, window.facts), mechanism.of_own)
    observed = ObservedTests(
        with_levels(columns, axes, reference.facts, window.facts, mechanism.of_own),
        crossed_test(crossed, crossed_shape, reference.sums, window.sums, explained),
        mechanism,
        explained,
    )
    return Comparison(profile, reference, window, contrast, cautious, *nulls, observed)


def _sample_of(profile: Profile, side: Evidence) -> Sample:
    layout = profile.layout
    observed = np.full(layout.size, float(side.n_rows))
    observed[layout.location] -= side.sums["missing"][profile.owner]
    sums, modelled = sums_of(layout, side.sums), sums_of(layout, side.sums, hidden="conditional")
    return Sample(side.n_rows, sums, modelled, squares_of(layout, side.sums), observed)


def _as_rare_as_both(profile: Profile, shape: Shape, reference: Sample, window: Sample) -> Shape:
    """Shape of the statistics where values are as rare as they are on both sides together.

    Of columns that are nearly constant, those would otherwise be compared in which a small reference happens to have
    other values often, and no window would have as many. Their variance is the share of these values, their kurtosis
    its inverse.
    """
    place, total = profile.layout.location, reference.n_rows + window.n_rows
    sums, squares = reference.sums[place] + window.sums[place], reference.squares[place] + window.squares[place]
    common = np.maximum(squares / total - (sums / total) ** 2, SMALLEST_VARIANCE)
    own = reference.squares[place] / reference.n_rows - reference.means[place] ** 2
    ratio = np.ones(len(shape.kurtosis))
    ratio[place] = np.maximum(own / common, 1.0)
    return replace(shape, skewness=shape.skewness * np.sqrt(ratio), kurtosis=shape.kurtosis * ratio)


def reference_error(profile: Profile, reference: Evidence, window: Evidence) -> Vector:
    """How much more the differences vary than the sums imply, where the window misses less than the reference.

    Notes
    -----
    With shares q and p of observed cells in reference and window, the mean of expected scores of a window varies
    by p v / n around a mean that the reference knows to v / (q m) only, and that enters by its share p: together
    v (p / n + p^2 / (q m)). The sums imply v (q m + p n) / (m + n) x (1 / m + 1 / n), which is the same for p = q.
    A product of two columns is observed where both are. Where the model was fitted to L < m rows, its error adds
    v (q - p)^2 / q x (1 / L - 1 / m). What products lack is known from one random completion of the L rows, each cell
    with the residual of a completed row: v (q - p)^2 (1 - q) / (q (2 - q) L). Bins vary besides by the error of D
    donors, where more is missing than chance explains.
    """
    layout, m, n = profile.layout, reference.n_rows, window.n_rows
    observed = [1.0 - side.sums["missing"] / side.n_rows for side in (reference, window)]
    q, p = (np.maximum(share, 1e-6)[profile.owner] for share in observed)
    pairs = shares_of_pairs(profile, reference, window)
    unlearned = max(1.0 / profile.n_learned - 1.0 / m, 0.0)
    beyond_chance = np.abs(observed[0] - observed[1]) - 2.0 * _rate_deviation(observed[0], 1.0 / m + 1.0 / n)
    changed = min(float(np.maximum(beyond_chance, 0.0).sum()), 1.0)
    ratio = np.ones(layout.size)
    shares: list[tuple[slice, Vector, Vector]] = [
        (layout.location, q, p),
        (layout.dependence, pairs[0], pairs[1]),
        (layout.bins, np.array([q.mean()]), np.array([p.mean()])),
    ]
    for block, one, two in shares:
        usual = (one * m + two * n) / (m + n) * (1.0 / m + 1.0 / n)
        ratio[block] = (two / n + two**2 / (one * m) + (one - two) ** 2 / one * unlearned) / usual
    one, two = pairs
    completion = (one - two) ** 2 * (1.0 - one) / (one * (2.0 - one)) / profile.n_learned
    by_squares = _error_of_squares(profile, reference, (q[profile.paired], one), (p[profile.paired], two))
    ratio[layout.dependence] += (completion + by_squares) / ((one * m + two * n) / (m + n) * (1.0 / m + 1.0 / n))
    ratio[layout.bins] += changed**2 / min(len(profile.donors), N_AVERAGED) / (1.0 / m + 1.0 / n)
    return np.sqrt(np.maximum(ratio, 1.0))


def _error_of_squares(
    profile: Profile, reference: Evidence, before: tuple[Vector, Vector], after: tuple[Vector, Vector]
) -> Vector:
    """Further variance of products where a column is observed that was missing, beside one that comes to be missing.

    Parameters
    ----------
    profile : Profile
    reference : Evidence
    before, after : pair of arrays
        Shares of the rows of reference and window that have a column, (paired,), and both of each product, (products,).

    Notes
    -----
    The expected product is x_i^2 S_ij / S_ii where only column i is observed, and S_ii is known from a share q_i of the
    reference's rows only. With a share s of the window's rows that have i but not j, of Gaussian scores with the
    correlation r, that varies the mean of the product by 2 r^2 s^2 / (q_i m), over the variance 1 + r^2 of a product.
    The reference's own rows, a share of which is filled like this, already show that much of it.
    """
    first, second = profile.layout.pairs
    covariance = (reference.sums["scatter"] + reference.sums["hidden"]) / reference.n_rows
    deviation = np.sqrt(np.maximum(np.diag(covariance), SMALLEST_VARIANCE))
    squared = np.minimum((covariance[first, second] / (deviation[first] * deviation[second])) ** 2, 1.0)
    found = np.zeros(len(first))
    for own in (first, second):
        was_alone, is_alone = (shares[own] - both for shares, both in (before, after))
        found += np.maximum(is_alone**2 - was_alone**2, 0.0) / (before[0][own] * reference.n_rows)
    return np.where(first == second, 0.0, found * 2.0 * squared / (1.0 + squared))


def shares_of_pairs(profile: Profile, *sides: Evidence) -> list[Vector]:
    """Share of the rows of each side that have both cells of each product.

    That of cells which are missing independently, which is known best; that which was counted where cells are missing
    together on one side and not on the other.
    """
    found = _missing_together(profile, *sides)
    return [np.where(found.differ, *shares) for shares in zip(found.counted, found.independent, strict=True)]


class MissingTogether(NamedTuple):
    """Rows that have both cells of each product.

    Parameters
    ----------
    independent : list of (products,) arrays
        Their share on each side, if cells are missing independently.
    counted : list of (products,) arrays
        Their share as it was counted; the same where nothing was, in more than 300 matrix columns.
    differ : (products,) array of bool
        Whether cells are clearly missing together on one side more than on the other.
    """

    independent: list[Vector]
    counted: list[Vector]
    differ: Mask

    def at_most(self) -> list[Vector]:
        """Share of the rows of each side that have both cells, at most.

        As many as there would be if cells were missing independently, and no more than were counted: questions that no
        person was asked together are observed together in no row.
        """
        return [np.minimum(*shares) for shares in zip(self.independent, self.counted, strict=True)]


def _missing_together(profile: Profile, *sides: Evidence) -> MissingTogether:
    first, second = (profile.owner[profile.paired[places]] for places in profile.layout.pairs)
    observed = [np.maximum(1.0 - side.sums["missing"] / side.n_rows, 1e-6) for side in sides]
    independent = [np.where(first == second, share[first], share[first] * share[second]) for share in observed]
    n_inputs = len(observed[0])
    if not len(sides[0].sums["crossed"]):
        return MissingTogether(independent, independent, np.zeros(len(first), dtype=bool))
    counts = [side.sums["crossed"][-n_inputs:, -n_inputs:][first, second] for side in sides]
    counted = [np.maximum(count / side.n_rows, 1e-6) for count, side in zip(counts, sides, strict=True)]
    beyond = [share - alone for share, alone in zip(counted, independent, strict=True)]
    variance = sum(share * (1.0 - share) / side.n_rows for share, side in zip(counted, sides, strict=True))
    # Of many products some differ by four standard deviations.
    sure = max(EQUAL_BY_CHANCE, -float(ndtri(DIFFER_BY_CHANCE / max(len(first), 1))))
    away = np.abs(beyond[0] - beyond[-1])
    return MissingTogether(independent, counted, away > np.maximum(EQUAL_RATES, sure * np.sqrt(variance)))


def _rate_deviation(rate: Vector, scale: float) -> Vector:
    """Standard deviation of the difference of two equal rates; ``scale`` is 1/m + 1/n."""
    found: Vector = np.sqrt(np.clip(rate * (1.0 - rate), 0.0, None) * scale)
    return found
