"""Findings of a contrast: values, missingness, features, and the verdict they add up to."""

from dataclasses import dataclass, replace

import numpy as np

from gapdrift._typing import Mask, Matrix, Vector
from gapdrift.counting.evidence import Evidence
from gapdrift.counting.observed import CrossedSums
from gapdrift.counting.profile import N_AVERAGED, Profile
from gapdrift.counting.statistics import squares_of, sums_of
from gapdrift.inference.combination import Component, combine, matched_filter, min_p, sidak, wald
from gapdrift.inference.contrast import (
    SMALLEST_VARIANCE,
    Contrast,
    Sample,
    Shape,
    compare,
    covariance_of,
    entry_p_values,
    standardised,
)
from gapdrift.inference.levels import cell_counts, with_levels
from gapdrift.inference.null import N_DRAWS, Null
from gapdrift.inference.observed import (
    ColumnTest,
    CrossedShape,
    CrossedTest,
    Mechanism,
    column_tests,
    crossed_test,
    explained_by,
    mechanism_test,
)
from gapdrift.inference.observed_null import ObservedNull
from gapdrift.inference.pearson import MIN_EXPECTED, SMALLEST_P
from gapdrift.models.gaussian import DensePrecision, FactorPrecision
from gapdrift.results import Finding
from gapdrift.tables.histograms import HistogramAxis

__all__ = [
    "Comparison",
    "FeatureTests",
    "combine_verdict",
    "feature_tests",
    "holm",
    "make_comparison",
    "missingness_finding",
    "sound_products",
    "value_parts",
    "values_finding",
]


VALUES_SHARE = 0.9
"""Share of the false alarms that the verdict spends on values; the rest is for missingness."""

ROWS_PER_RANK = 10
"""Rows for each direction of a Wald test, at least."""

MAX_CORRELATED = 400
"""Statistics whose correlation is known, at most; all pairs of more columns are taken as independent."""

BINS_WEIGHT, INTERACTIONS_WEIGHT = 0.5, 0.4
"""Weights of these tests, where that of location, of dependence and of distributions is 1."""

ROWS_PER_COLUMN = 4
"""Rows that a model is learned from, for each matrix column, below which it fits them better than any others."""

ROWS_PER_FACTOR_COLUMN = 10
"""The same of a model of a few factors and noise."""

ROWS_PER_KNOWN_COLUMN = 10
"""The same, below which it says too little of cells that are missing at other values than those it was learned from."""

MIN_TOGETHER = 20.0
"""Rows of either side, about, in which both cells of a product are observed, at least."""

CLEARLY = 0.01
"""p-value of all columns being missing at the same values as before below which bins are not compared."""

NEXT_TO_NOTHING = 0.5
"""Standard deviations of a mean that do not matter."""

FACTOR_ERRORS = 3.0
"""Standard errors by which factors may miss a correlation beyond what the reference shows."""

MAX_MISSED = 3.0
"""Standard deviations that factors may miss of a product, at most; beyond it is not compared."""

EQUAL_RATES = 0.02
"""Difference of the missing rates of a column below which they are treated as equal."""

EQUAL_BY_CHANCE = 4.0
"""Standard deviations of that difference below which they are treated as equal too."""


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
        The same, differences of values divided by how much more they vary than the sums say (`reference_error`).
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


@dataclass(frozen=True, eq=False)
class FeatureTests:
    """p-values and effect sizes of the input columns, and whether they are those of a product: (columns,) arrays."""

    p_values: Vector
    effects: Vector
    by_product: Mask


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
        mechanism = mechanism_test(crossed, crossed_shape, reference.sums["crossed"], window.sums["crossed"])
    explained = explained_by(mechanism.p_values)
    counts = cell_counts(axes, (reference.sums["cells"], reference.facts), (window.sums["cells"], window.facts))
    columns = column_tests(axes, counts, explained)
    observed = ObservedTests(
        with_levels(columns, axes, reference.facts, window.facts, explained),
        crossed_test(crossed, crossed_shape, reference.sums, window.sums, explained),
        mechanism,
        explained,
    )
    return Comparison(profile, reference, window, contrast, cautious, *nulls, observed)


def _sample_of(profile: Profile, side: Evidence) -> Sample:
    layout = profile.layout
    observed = np.full(layout.size, float(side.n_rows))
    observed[layout.location] -= side.sums["missing"][profile.owner]
    sums, plain = sums_of(layout, side.sums), sums_of(layout, side.sums, hidden=False)
    return Sample(side.n_rows, sums, plain, squares_of(layout, side.sums), observed)


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
    """How much more the differences vary than the sums say, where the window misses less than the reference.

    Notes
    -----
    With shares q and p of observed cells in reference and window, the mean of expected scores of a window varies
    by p v / n around a mean that the reference knows to v / (q m) only, and that enters by its share p: together
    v (p / n + p^2 / (q m)). The sums say v (q m + p n) / (m + n) x (1 / m + 1 / n), which is the same for p = q.
    A product of two columns is observed where both are. Where the model was fitted to L < m rows, its error adds
    v (q - p)^2 / q x (1 / L - 1 / m), and bins vary besides by the error of D donors, where more is missing than chance
    explains.
    """
    layout, m, n = profile.layout, reference.n_rows, window.n_rows
    observed = [1.0 - side.sums["missing"] / side.n_rows for side in (reference, window)]
    q, p = (np.maximum(share, 1e-6)[profile.owner] for share in observed)
    pairs = _shares_of_pairs(profile, reference, window)
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
        said = (one * m + two * n) / (m + n) * (1.0 / m + 1.0 / n)
        ratio[block] = (two / n + two**2 / (one * m) + (one - two) ** 2 / one * unlearned) / said
    ratio[layout.bins] += changed**2 / min(len(profile.donors), N_AVERAGED) / (1.0 / m + 1.0 / n)
    return np.sqrt(np.maximum(ratio, 1.0))


def _shares_of_pairs(profile: Profile, *sides: Evidence) -> list[Vector]:
    """Share of the rows of each side that have both cells of each product, if they are missing independently."""
    first, second = (profile.paired[places] for places in profile.layout.pairs)
    observed = [np.maximum(1.0 - side.sums["missing"] / side.n_rows, 1e-6)[profile.owner] for side in sides]
    return [np.where(first == second, share[first], share[first] * share[second]) for share in observed]


def merge_bins(shares: Vector, n_rows: int, centres: Matrix) -> Matrix:
    """Sums of bins in which each expects enough rows: (merged, bins) array of 0 and 1.

    The smallest bin goes to its nearest until all of ``n_rows`` x share are large enough, or two are left.

    Examples
    --------
    >>> merge_bins(np.array([0.5, 0.45, 0.05]), 50, np.array([[0.0], [5.0], [6.0]]))
    array([[1., 0., 0.],
           [0., 1., 1.]])
    """
    groups, shares, centres = np.eye(len(shares)), shares.copy(), centres.copy()
    while len(shares) > 2 and shares.min() * n_rows < MIN_EXPECTED:
        small = int(shares.argmin())
        away = ((centres - centres[small]) ** 2).sum(axis=1)
        away[small] = np.inf
        near = int(away.argmin())
        total = max(shares[near] + shares[small], 1e-12)
        centres[near] = (shares[near] * centres[near] + shares[small] * centres[small]) / total
        shares[near] += shares[small]
        groups[near] += groups[small]
        groups, shares, centres = (np.delete(array, small, axis=0) for array in (groups, shares, centres))
    return groups


def values_finding(comparison: Comparison) -> Finding:
    """Finding of the values, with its parts."""
    return _finding("values", value_parts(comparison))


def value_parts(comparison: Comparison) -> list[tuple[Component | None, float, float]]:
    """Location, dependence, bins, distributions and interactions: each test, its weight and its effect size.

    Notes
    -----
    `benchmarks.weights` compares the weights with others on drifts drawn at random.
    """
    layout, cautious = comparison.profile.layout, comparison.cautious
    return [
        (_location(comparison), 1.0, _surest(cautious, comparison, layout.location)),
        (_dependence(comparison), 1.0, _surest(cautious, comparison, layout.dependence)),
        (_bins(comparison), BINS_WEIGHT, total_variation(comparison)),
        _distributions(comparison),
        _interactions(comparison),
    ]


def _distributions(comparison: Comparison) -> tuple[Component | None, float, float]:
    """Test of the distribution of each column, by its observed cells."""
    tests = {place: test for place, test in enumerate(comparison.observed.columns) if test is not None}
    p_values = np.array([test.p_value for test in tests.values()])
    found = comparison.observed_null.distributions_test(p_values, np.array(list(tests), dtype=np.intp))
    return found, 1.0, min(tests.values()).effect_size if tests else 0.0


def _interactions(comparison: Comparison) -> tuple[Component | None, float, float]:
    """Test of the products of observed cells, but for plain ones, which dependence tells more of."""
    crossed = comparison.observed.crossed
    tested = np.flatnonzero(crossed.usable & ~crossed.is_plain)
    if not len(tested):
        return None, INTERACTIONS_WEIGHT, 0.0
    surest = tested[crossed.p_values[tested].argmin()]
    found = comparison.observed_null.interactions_test(float(crossed.p_values[surest]), len(tested))
    return found, INTERACTIONS_WEIGHT, float(crossed.effects[surest])


def _conditions(comparison: Comparison) -> Component | None:
    """Test of the values of others at which columns are missing."""
    p_values = comparison.observed.mechanism.p_values
    tested = p_values < 1.0
    if not tested.any():
        return None
    smallest, number = float(p_values.min()), int(tested.sum())
    # Taken as independent of each other and of all other tests.
    simulated = np.random.default_rng(4).random(N_DRAWS)
    return Component("conditions", sidak(smallest, number), simulated, degrees_of_freedom=number)


def missingness_finding(comparison: Comparison) -> Finding | None:
    """Finding of what is missing: rates, patterns and conditions; None where nothing is missing on either side."""
    layout, contrast = comparison.profile.layout, comparison.contrast
    if not contrast.usable[layout.missingness].any():
        return None
    rates, patterns = contrast.part(layout.rates), contrast.part(layout.patterns)
    draws = _draws(comparison.missing_null, layout.rates)
    both = combine("rates", [(_rates_together(comparison, draws), 0.5), (min_p("rates", rates, draws), 0.5)])
    pairs = min_p("patterns", patterns, _draws(comparison.missing_null, layout.patterns))
    parts = [
        (both, 1.0, float(np.abs(rates.difference).max(initial=0.0))),
        (pairs, 0.5, float(np.abs(patterns.difference[:-1]).max(initial=0.0))),
        (_conditions(comparison), 0.5, 0.0),
    ]
    found = _finding("missingness", parts)
    # Pairs of columns missing together are shares too, but a change of a rate is what users think of.
    return replace(found, effect_size=parts[0][2])


def feature_tests(comparison: Comparison) -> FeatureTests:
    """p-value and effect size of each input column: its own observed values, and how they go with those of others.

    Notes
    -----
    Expected scores of a column move where a column moves that it depends on, so that they blame no column.

    A product of two columns or three is laid to one of them only where it is surer to have moved than each of the
    others by itself. The effect size is that of the surest: of the column's own values (`ColumnTest`), or of a product,
    in products of standard deviations, which for two columns is about the change of their correlation.
    """
    profile, observed = comparison.profile, comparison.observed
    own = np.array([1.0 if test is None else test.p_value for test in observed.columns])
    effects = np.array([0.0 if test is None else test.effect_size for test in observed.columns])
    size = len(profile.entropy)
    found = FeatureTests(np.ones(size), np.zeros(size), np.zeros(size, dtype=bool))
    for column in range(len(own)):
        tests = [(float(own[column]), float(effects[column])), *_products_of(observed.crossed, column, own)]
        surest = min(range(len(tests)), key=lambda place: tests[place][0])
        smallest, found.effects[column] = tests[surest]
        found.by_product[column] = surest > 0
        found.p_values[column] = max(sidak(smallest, len(tests)), SMALLEST_P)
    return found


def _products_of(crossed: CrossedTest, column: int, own: Vector) -> list[tuple[float, float]]:
    """p-value and effect size of the products that are laid to an input column: of plain ones, and of others."""
    found = []
    for chosen in (crossed.is_plain, ~crossed.is_plain):
        entries = np.flatnonzero(crossed.usable & chosen & (crossed.columns == column).any(axis=1))
        if len(entries):
            columns = crossed.columns[entries]
            others = np.where(columns == column, 1.0, own[columns]).min(axis=1)
            p_values = np.where(crossed.p_values[entries] < others, crossed.p_values[entries], 1.0)
            surest = int(p_values.argmin())
            found.append((sidak(float(p_values[surest]), len(entries)), float(crossed.effects[entries[surest]])))
    return found


def combine_verdict(values: Finding, missingness: Finding | None) -> float:
    """p-value of the verdict: values and missingness, which are nearly independent, share the false alarms."""
    if missingness is None or not missingness.determined:
        return values.p_value
    if not values.determined:
        return missingness.p_value
    share = VALUES_SHARE
    both = min(sidak(values.p_value, 1.0 / share), sidak(missingness.p_value, 1.0 / (1.0 - share)))
    return max(both, SMALLEST_P)


def holm(p_values: Vector) -> Vector:
    """p-values adjusted for their number, so that the chance of any false name is at most alpha (Holm).

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p_values, kind="stable")
    raised = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(raised), 1.0)
    return adjusted


def effect_units(profile: Profile) -> Vector:
    """Factors that bring differences to standard deviations, shares, or units of correlation: (statistics,)."""
    layout = profile.layout
    units = np.ones(layout.size)
    units[layout.location] = np.where(profile.is_category, np.sqrt(2.0), 1.0)
    first, second = layout.pairs
    units[layout.dependence] = np.where(first == second, 0.5, 1.0)
    return units


def total_variation(comparison: Comparison) -> float:
    """Share of the rows that would have to move to other bins."""
    before, after = comparison.shares
    return float(0.5 * np.abs(after - before).sum())


def _location(comparison: Comparison) -> Component | None:
    """Test of the location.

    Few columns are tested together; many columns along principal directions together, and all one by one. Categories
    too rare for either are left to the exact test of their counts; columns of which the model knows too little to say
    what is missing at other values than before, or that follow what changed there along no straight line, to the test
    of their observed cells.
    """
    profile, layout = comparison.profile, comparison.profile.layout
    location = comparison.cautious.part(layout.location).scaled(_line_error(comparison))
    if _conditions_changed(comparison):
        is_straight = comparison.observed.mechanism.bent < NEXT_TO_NOTHING
        known = (_is_well_known(comparison) & is_straight)[profile.owner]
        location = replace(location, usable=location.usable & known, smooth=location.smooth & known)
    draws = _draws(comparison.values_null, layout.location)
    deviation = np.sqrt(location.variance)
    covariance = _paired_covariance(comparison)
    smooth = location.smooth[profile.paired]
    turn = np.eye(len(smooth)) if profile.direct else profile.directions[profile.paired]
    turn = turn[:, smooth] if profile.direct else turn * smooth[:, None]
    difference = location.difference[profile.paired] @ turn
    turned = (draws * deviation)[:, profile.paired] @ turn
    together = _as_a_whole("location", location, difference, turn.T @ covariance @ turn, turned)
    if profile.direct:
        return together
    often = replace(location, usable=location.usable & location.smooth)
    return combine("location", [(together, 0.5), (min_p("location", often, draws), 0.5)])


def _line_error(comparison: Comparison) -> Vector:
    """Factors by which the location counts less where a column is missing at other values than before.

    Its missing cells are filled along a line whose slope the reference knows to 1 / (q L) only, with a share q of
    observed cells of the L rows that it was learned from; or to its own square where that is less, as slopes are drawn
    towards 0. Where the others moved by d in the rows that have the column, a share p of them, they moved by p d in
    those that are filled on average: that varies by (p d)^2 / (q L) besides.
    """
    profile, mechanism = comparison.profile, comparison.observed.mechanism
    m, n, owner = comparison.reference.n_rows, comparison.window.n_rows, profile.owner
    q, p = (np.maximum(1.0 - rates, 1e-6)[owner] for rates in comparison.missing_rates)
    said = (q * m + p * n) / (m + n) * (1.0 / m + 1.0 / n)
    error = 1.0 / (q * profile.n_learned)
    if isinstance(profile.precision, DensePrecision):
        matrix = profile.precision.matrix
        slope = matrix[np.arange(len(owner)), mechanism.along[owner]] / np.diagonal(matrix)
        error = np.minimum(error, slope**2)
    besides = (np.maximum(p, q) * mechanism.moved[owner]) ** 2 * error
    return np.asarray(1.0 / np.sqrt(1.0 + besides / said))


def _paired_covariance(comparison: Comparison) -> Matrix:
    """Covariance of the expected scores of the paired columns."""
    paired = comparison.profile.paired
    sides = comparison.reference, comparison.window
    first, second = (side.sums["location"][paired] for side in sides)
    scatter = comparison.reference.sums["scatter"], comparison.window.sums["scatter"]
    return covariance_of((sides[0].n_rows, sides[1].n_rows), (first, second), scatter)


def _dependence(comparison: Comparison) -> Component | None:
    """Test of the products of expected scores.

    What is expected of a missing cell follows a straight line. Where the conditions changed under which a column is
    missing, that line was learned from other rows than it is applied to: what that explains is taken off.
    """
    profile, layout = comparison.profile, comparison.profile.layout
    pairs = sound_products(comparison)
    if not profile.direct:
        return min_p("dependence", pairs, None)
    draws = _draws(comparison.values_null, layout.dependence)
    one_by_one = min_p("dependence", pairs, draws)
    if not _equal_rates(comparison) or comparison.observed.explained.any():
        # The correlation of the products is known for the missing values of the reference only; and entries of which
        # something was taken off no longer have it: its inverse would make much of that.
        return one_by_one
    smooth = np.flatnonzero(pairs.smooth)
    deviation = np.sqrt(pairs.variance[smooth])
    correlation = comparison.values_null.correlation_between(layout.dependence.start + smooth)
    freedom = min(comparison.values_null.n_effective - 1, pairs.n_rows - 2)
    if freedom < ROWS_PER_RANK * len(smooth):
        # An inverse of their correlation would rest on too few rows: with strongly dependent columns it alarms.
        return one_by_one
    covariance = correlation * np.outer(deviation, deviation)
    difference = pairs.difference[smooth]
    together = _as_a_whole("dependence", pairs, difference, covariance, draws[:, smooth], max(freedom, 1))
    filtered = matched_filter("dependence", standardised(pairs)[smooth], correlation, draws[:, smooth], freedom)
    return combine("dependence", [(one_by_one, 0.5), (filtered, 0.3), (together, 0.2)])


def sound_products(comparison: Comparison) -> Contrast:
    """Products of expected scores, without what is explained otherwise; those of too few rows are not usable.

    Changed conditions of missing cells explain some, and changed rates where a few factors tell less than all.
    """
    profile, layout = comparison.profile, comparison.profile.layout
    pairs = comparison.cautious.part(layout.dependence)
    first, second = (profile.owner[profile.paired[places]] for places in layout.pairs)
    explained = np.maximum(comparison.observed.explained[first], comparison.observed.explained[second])
    missed = _missed_by_factors(comparison, pairs)
    away = np.maximum(np.abs(standardised(pairs)), 1e-9)
    pairs = pairs.scaled(np.maximum(away - np.maximum(explained, missed), 0.0) / away)
    # Of which so much is taken off, next to nothing would be found.
    sound = missed <= MAX_MISSED
    for rates, n_rows in zip(comparison.missing_rates, (pairs.n_reference, pairs.n_window), strict=True):
        share = 1.0 - rates
        sound &= np.where(first == second, share[first], share[first] * share[second]) * n_rows >= MIN_TOGETHER
    learned = _is_learned(comparison)
    sound &= learned[first] & learned[second]
    return replace(pairs, usable=pairs.usable & sound, smooth=pairs.smooth & sound)


def _missed_by_factors(comparison: Comparison, pairs: Contrast) -> Vector:
    """Standard deviations that changed rates may explain of products of which a few factors tell the hidden part.

    Factors cannot tell every correlation, such as that of a column with its copy. Where both cells are observed, in a
    share q of the reference's rows, a product has the true mean, and elsewhere that of the factors: together they are
    q (truth - factors) apart from these. With a share p of the window's rows they move by p - q times what the factors
    miss, which the reference tells up to its error.
    """
    profile, reference = comparison.profile, comparison.reference
    if not isinstance(profile.precision, FactorPrecision) or _equal_rates(comparison):
        return np.zeros(len(pairs.difference))
    loadings, noise = profile.precision.loadings[profile.paired], profile.precision.noise[profile.paired]
    told = loadings @ loadings.T + np.diag(noise)
    found = (reference.sums["scatter"] + reference.sums["hidden"]) / reference.n_rows
    q, p = _shares_of_pairs(profile, reference, comparison.window)
    error = np.sqrt(pairs.variance / reference.n_rows)
    missed = np.abs(found - told)[profile.layout.pairs] + FACTOR_ERRORS * error
    return np.asarray(np.abs(p - q) / q * missed / np.sqrt(np.maximum(pairs.variance * pairs.scale, 1e-12)))


def _is_learned(comparison: Comparison) -> Mask:
    """Whether what is expected of each input column was learned from enough rows, or from others: (input columns,).

    Otherwise the line that fills its missing cells fits the reference better than any window.
    """
    rates, n_rows = comparison.missing_rates[0], comparison.reference.n_rows
    enough = (1.0 - rates) * n_rows >= ROWS_PER_COLUMN * len(comparison.profile.owner)
    return np.asarray(comparison.profile.apart | (rates == 0.0) | enough)


def _is_well_known(comparison: Comparison) -> Mask:
    """Whether enough rows taught what is expected of each input column for any missing cells of it: (input columns,).

    The line that fills a missing cell is known from few rows otherwise: well enough while cells are missing at the same
    values as before, not where they are missing at others.
    """
    profile = comparison.profile
    before, after = comparison.missing_rates
    enough = (1.0 - before) * profile.n_learned >= ROWS_PER_KNOWN_COLUMN * len(profile.owner)
    return np.asarray(enough | (np.maximum(before, after) == 0.0))


def _conditions_changed(comparison: Comparison) -> bool:
    """Whether cells are clearly missing at other values than before."""
    conditions = _conditions(comparison)
    return conditions is not None and conditions.p_value < CLEARLY


def _bins(comparison: Comparison) -> Component | None:
    """Test of the bins together.

    None where missing rates, or what values are missing at, clearly changed: shares of completed rows follow the model
    of the missing cells most closely. None either where bins lie along factors of the very rows that are compared:
    these are spread along them as no others are (161 independent columns, 0.3 missing: 3 of 3 windows alarmed).
    """
    profile, layout = comparison.profile, comparison.profile.layout
    if isinstance(profile.precision, FactorPrecision) and not profile.apart:
        return None
    if not _equal_rates(comparison) or _conditions_changed(comparison):
        return None
    bins = comparison.cautious.part(layout.bins)
    before, after = comparison.shares
    pooled = (before * bins.n_reference + after * bins.n_window) / bins.n_rows
    groups = merge_bins(pooled, min(bins.n_reference, bins.n_window), profile.centres)
    draws = _draws(comparison.values_null, layout.bins) * np.sqrt(bins.variance)
    covariance = groups @ comparison.covariance("bins", "bin_products") @ groups.T
    return _as_a_whole("bins", bins, groups @ bins.difference, covariance, draws @ groups.T)


def _rates_together(comparison: Comparison, draws: Matrix) -> Component | None:
    """Rates of all columns together; where columns are many, with the correlation that the reference shows."""
    layout = comparison.profile.layout
    rates = comparison.contrast.part(layout.rates)
    smooth = np.flatnonzero(rates.smooth)
    freedom = None
    if len(rates.difference) == len(comparison.profile.missing_paired):
        covariance = comparison.covariance("missing", "missing_pairs")[np.ix_(smooth, smooth)]
    elif len(rates.difference) <= MAX_CORRELATED // 2:
        deviation = np.sqrt(rates.variance[smooth])
        correlation = comparison.missing_null.correlation_between(layout.rates.start + smooth)
        covariance = correlation * np.outer(deviation, deviation)
        # Only the rows of the reference tell it.
        freedom = max(comparison.missing_null.n_effective - 1, 1)
    else:
        return None
    return _as_a_whole("rates", rates, rates.difference[smooth], covariance, draws[:, smooth], freedom)


def _equal_rates(comparison: Comparison) -> bool:
    """Whether the missing rates of all columns are equal, or differ by chance only."""
    one, two = comparison.missing_rates
    deviation = _rate_deviation(one, comparison.contrast.scale)
    return bool(np.all(np.abs(one - two) <= np.maximum(EQUAL_RATES, EQUAL_BY_CHANCE * deviation)))


def _rate_deviation(rate: Vector, scale: float) -> Vector:
    """Standard deviation of the difference of two equal rates; ``scale`` is 1/m + 1/n."""
    found: Vector = np.sqrt(np.clip(rate * (1.0 - rate), 0.0, None) * scale)
    return found


def _draws(null: Null, block: slice) -> Matrix:
    return null.draws_of(np.arange(block.start, block.stop))


def _as_a_whole(
    name: str, part: Contrast, difference: Vector, covariance: Matrix, draws: Matrix, freedom: int | None = None
) -> Component | None:
    """Wald test of a block, along as many directions as there are rows for."""
    freedom = part.n_rows - 2 if freedom is None else freedom
    max_rank = max((freedom + 2) // ROWS_PER_RANK, 2)
    n_rows, scale = part.n_rows, part.scale
    return wald(name, difference, covariance, draws, n_rows=n_rows, scale=scale, freedom=freedom, max_rank=max_rank)


def _surest(cautious: Contrast, comparison: Comparison, block: slice) -> float:
    """Effect size of the entry of a block with the smallest p-value."""
    p_values = entry_p_values(cautious.part(block))
    effects = np.abs(comparison.contrast.difference[block]) * effect_units(comparison.profile)[block]
    return float(effects[p_values.argmin()]) if len(p_values) else 0.0


def _finding(name: str, parts: list[tuple[Component | None, float, float]]) -> Finding:
    whole = combine(name, [(component, weight) for component, weight, _ in parts])
    if whole is None:
        return Finding(name, None, None, 1.0, None, reason="No statistic varies enough to be tested.")
    findings = tuple(
        Finding(part.name, part.statistic, part.degrees_of_freedom, max(part.p_value, SMALLEST_P), effect)
        for part, _, effect in parts
        if part is not None
    )
    effect_size = max(effect for part, _, effect in parts if part is not None)
    return Finding(name, None, None, max(whole.p_value, SMALLEST_P), effect_size, parts=findings)
