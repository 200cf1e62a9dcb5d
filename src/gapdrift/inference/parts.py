"""The tests of a comparison: location, dependence, bins, distributions, interactions; rates and conditions."""

from dataclasses import replace

import numpy as np
from scipy.special import ndtr

from gapdrift._typing import Indices, Mask, Matrix, Vector
from gapdrift.counting.evidence import Evidence
from gapdrift.counting.profile import Profile
from gapdrift.inference.combination import (
    Component,
    combine,
    effective_number,
    matched_filter,
    min_p,
    sidak,
    sum_of_squares,
    wald,
)
from gapdrift.inference.comparison import Comparison, shares_of_pairs
from gapdrift.inference.contrast import (
    MAX_KURTOSIS,
    MAX_SKEWNESS,
    SMALLEST_VARIANCE,
    Contrast,
    covariance_of,
    entry_p_values,
    standardised,
)
from gapdrift.inference.null import N_DRAWS, Null, largest_products
from gapdrift.inference.pearson import MIN_EXPECTED
from gapdrift.models.gaussian import DensePrecision, FactorPrecision
from gapdrift.models.gaussian.patterns import inverse

__all__ = [
    "bins_part",
    "conditions_part",
    "dependence_part",
    "distributions_part",
    "interactions_part",
    "location_part",
    "merge_bins",
    "patterns_part",
    "rates_part",
    "sound_products",
]

ROWS_PER_RANK = 10
"""Rows for each direction of a Wald test, at least."""

ROWS_PER_KNOWN_RANK = 3
"""The same where missing rates differ, of rows that have two columns."""

MAX_CORRELATED = 400
"""Statistics whose correlation is estimated, at most; that of all pairs of more columns follows from the covariance."""

ROWS_PER_COLUMN = 4
"""Rows that a model is learned from, for each matrix column, below which it fits them better than any others."""

ROWS_PER_FACTOR_COLUMN = 10
"""The same of a model of a few factors and noise."""

ROWS_PER_KNOWN_COLUMN = 10
"""The same, below which it predicts too poorly what is missing at other values than those it was fitted to."""

MIN_TOGETHER = 20.0
"""Rows of either side, about, in which both cells of a product are observed, at least."""

ROUGHLY_SYMMETRIC, SHORT_TAIL = 0.2, 0.7
"""Skewness of a product's mean from which its short tail is taken to have only a share of it, and that share."""

CLEARLY = 0.01
"""p-value of all columns being missing at the same values as before below which bins are not compared."""

NEXT_TO_NOTHING = 0.5
"""Standard deviations of a mean that do not matter."""

FACTOR_ERRORS = 3.0
"""Standard errors by which factors may miss a correlation beyond what the reference shows."""

OTHER_ROWS = 4.0
"""Standard errors by which the mean products of reference rows may differ from those of the model fitted to them."""

SMALLEST_RIDGE = 1e-6
"""Share of its variances by which a covariance that is inverted is made larger."""

MAX_MISSED = 3.0
"""Standard deviations that factors may miss of a product, at most; beyond it is not compared."""


def location_part(comparison: Comparison) -> Component | None:
    """Test of the location.

    Columns are tested together, many of them along principal directions, and by the sum of their squared differences;
    many columns one by one as well. Categories too rare for these are left to the exact test of their counts; columns
    that the model predicts too poorly where cells are missing at other values than before, or that depend on what
    changed there in a bend, to the test of their observed cells.
    """
    profile, layout = comparison.profile, comparison.profile.layout
    line_error = _line_error(comparison)
    location = _as_observed(comparison, comparison.cautious.part(layout.location).scaled(line_error))
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
    turned = (draws * deviation)[:, profile.paired] @ turn
    if comparison.equal_rates:
        difference = location.difference[profile.paired] @ turn
        together = _as_a_whole("location", location, difference, turn.T @ covariance @ turn, turned)
    else:
        together = _location_under_other_rates(comparison, line_error, turn, turned)
    all_alike = _all_alike(comparison, location, covariance, draws)
    if profile.direct:
        return combine("location", [(together, 0.5), (all_alike, 0.5)])
    often = replace(location, usable=location.usable & location.smooth)
    one_by_one = min_p("location", often, draws)
    return combine("location", [(together, 0.25), (one_by_one, 0.25), (all_alike, 0.5)])


def _as_observed(comparison: Comparison, location: Contrast) -> Contrast:
    """Location with the skewness and the kurtosis that observed cells give it where missing rates differ.

    As many rows as have the cells count on each side then, instead of all rows with shares of observed cells that are
    those of both sides together: of a hundred rows that miss nine tenths of their cells ten are left, and the mean of
    ten rare values is no Gaussian.
    """
    if comparison.equal_rates:
        return location
    m, n, owner = location.n_reference, location.n_window, comparison.profile.owner
    q, p = (np.maximum(1.0 - rates, 1e-6)[owner] for rates in comparison.missing_rates)
    share = (q * m + p * n) / (m + n)
    row_scale, scale = 1.0 / m + 1.0 / n, 1.0 / (q * m) + 1.0 / (p * n)
    with np.errstate(divide="ignore", invalid="ignore"):
        heavier = (1.0 / (p * n) ** 3 + 1.0 / (q * m) ** 3) / scale**2 / ((1.0 / n**3 + 1.0 / m**3) / row_scale**2)
        steeper = (1.0 / (p * n) ** 2 - 1.0 / (q * m) ** 2) / scale**1.5 / ((1.0 / n**2 - 1.0 / m**2) / row_scale**1.5)
        kurtosis = location.kurtosis * share * heavier
        skewness = location.skewness * np.sqrt(share) * np.where(np.isfinite(steeper), steeper, 1.0)
    sound = (np.abs(skewness) <= MAX_SKEWNESS) & (kurtosis <= MAX_KURTOSIS)
    sound &= np.minimum(q * m, p * n) >= MIN_TOGETHER
    usable, smooth = location.usable & sound, location.smooth & sound
    return replace(location, skewness=skewness, kurtosis=kurtosis, usable=usable, smooth=smooth)


def _location_under_other_rates(
    comparison: Comparison, factors: Vector, turn: Matrix, draws: Matrix
) -> Component | None:
    """Wald's test of the location where missing rates differ: each side varies in its own way.

    Parameters
    ----------
    comparison : Comparison
    factors : (columns,) array
        By which differences count less.
    turn : (paired, directions) array
    draws : (draws, directions) array

    Notes
    -----
    Expected scores of a row with observed cells o are S P x, with S the covariance of the scores and P the inverse of
    its part S_oo. With J the mean of P over the rows of a side, D = S J S = S less the mean conditional covariance, and
    C the covariance of the expected scores; C is D only where the scores are Gaussian, as columns that are large
    together are not. A mean that is off by d moves the expected scores of a side by S J d. The L rows from which the
    model was learned have it off by (S J_m)^-1 times the mean of their expected scores; so the difference of the means
    of n rows of a window and m of the reference, with G = (D_n - D_m) D_m^-1, has the covariance
    C_n / n + C_m / m + (G C_m + C_m G') / m + G C_m G' / L, which is C_n / n + D_n D_m^-1 C_m D_m^-1 D_n / m for L = m.
    Where it was learned from other rows, the third term falls away. In directions in which columns that follow each
    other differ, that is far more than the rates imply: these are known from rows with all of the columns only.
    """
    profile = comparison.profile
    m, n = comparison.reference.n_rows, comparison.window.n_rows
    sides, least = (comparison.reference, comparison.window), _least_variances(comparison)
    before, after = (_within(side, profile.paired) for side in sides)
    before += np.diag(np.maximum(least[0] - np.diag(before), 0.0))
    after += np.diag(np.maximum(least[1] - np.diag(after), 0.0))
    modelled, modelled_now = (_modelled_covariance(comparison, side) for side in sides)
    inverted = np.linalg.inv(modelled + SMALLEST_RIDGE * np.diag(np.diag(modelled) + SMALLEST_VARIANCE))
    passed_on = (modelled_now - modelled) @ inverted
    of_reference = before / m + passed_on @ before @ passed_on.T / profile.n_learned
    if not profile.apart:
        of_reference += (passed_on @ before + before @ passed_on.T) / m
    own, covariance = (turn.T @ part @ turn for part in (of_reference, of_reference + after / n))
    share = float(np.clip(np.trace(own) / max(np.trace(covariance), SMALLEST_VARIANCE), 0.0, 1.0))
    # What columns have in common is known from the rows with two of them.
    n_common = max(float((1.0 - comparison.missing_rates[0]).mean()) ** 2 * m, 3.0)
    freedom = int(1.0 / (share**2 / (n_common - 1.0) + (1.0 - share) ** 2 / max(n - 1.0, 1.0)))
    location = comparison.contrast.part(profile.layout.location).scaled(factors)
    difference = location.difference[profile.paired] @ turn
    return wald(
        "location",
        difference,
        covariance / location.scale,
        draws,
        n_rows=m + n,
        scale=location.scale,
        freedom=freedom,
        # Leading directions are those that chance made seem to vary most: all of them, where they are known at all.
        max_rank=max(freedom // ROWS_PER_KNOWN_RANK, 2),
        about_common_mean=False,
    )


def _modelled_covariance(comparison: Comparison, side: Evidence) -> Matrix:
    """Covariance of the expected scores of one side by the model: that of the scores less what missing cells hide."""
    profile = comparison.profile
    found: Matrix = _model_covariance(profile) - side.sums["conditional"] / side.n_rows
    return found


def _model_covariance(profile: Profile) -> Matrix:
    """Covariance of the scores of the paired columns, by the model."""
    paired, precision = profile.paired, profile.precision
    if isinstance(precision, FactorPrecision):
        loadings: Matrix = precision.loadings[paired]
        return loadings @ loadings.T + np.diag(precision.noise[paired])
    return inverse(precision.matrix)[np.ix_(paired, paired)]


def _within(side: Evidence, paired: Indices, also: str | None = None) -> Matrix:
    """Covariance of the expected scores of the paired columns on one side, and what else is summed up of it."""
    mean = side.sums["location"][paired] / side.n_rows
    scatter = side.sums["scatter"] if also is None else side.sums["scatter"] + side.sums[also]
    found: Matrix = scatter / side.n_rows - np.outer(mean, mean)
    return found


def _least_variances(comparison: Comparison) -> tuple[Vector, Vector]:
    """Variance that expected scores of either side have at least: that of its observed cells, by both sides together.

    A side that happens to lack a rare value would seem to know to any digit how rare it is.
    """
    paired, sides = comparison.profile.paired, (comparison.reference, comparison.window)
    owner = comparison.profile.owner[paired]
    before, after = (np.maximum(1.0 - rates, 1e-6)[owner] for rates in comparison.missing_rates)
    weights = before * sides[0].n_rows, after * sides[1].n_rows
    whole = [np.diag(_within(side, paired, also="hidden")) for side in sides]
    common = (weights[0] * whole[0] + weights[1] * whole[1]) / (weights[0] + weights[1])
    return before * common, after * common


def _all_alike(comparison: Comparison, location: Contrast, covariance: Matrix, draws: Matrix) -> Component | None:
    """Sum of the squared differences of the paired columns that a quadratic form bears.

    None where missing cells changed: what is known less well then is made much of by a sum over many columns.
    """
    if not comparison.equal_rates or _conditions_changed(comparison):
        return None
    paired = comparison.profile.paired
    chosen = np.flatnonzero(location.smooth[paired])
    entries = paired[chosen]
    deviation = np.sqrt(np.maximum(np.diag(covariance)[chosen], SMALLEST_VARIANCE))
    correlation = covariance[np.ix_(chosen, chosen)] / np.outer(deviation, deviation)
    score, kurtosis = standardised(location)[entries], location.kurtosis[entries]
    n_rows = location.n_rows
    return sum_of_squares("location", score, correlation, draws[:, entries], n_rows=n_rows, kurtosis=kurtosis)


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
    usual = (q * m + p * n) / (m + n) * (1.0 / m + 1.0 / n)
    error = 1.0 / (q * profile.n_learned)
    if isinstance(profile.precision, DensePrecision):
        matrix = profile.precision.matrix
        slope = matrix[np.arange(len(owner)), mechanism.along[owner]] / np.diagonal(matrix)
        error = np.minimum(error, slope**2)
    added = (np.maximum(p, q) * mechanism.moved[owner]) ** 2 * error
    return np.asarray(1.0 / np.sqrt(1.0 + added / usual))


def _paired_covariance(comparison: Comparison) -> Matrix:
    """Covariance of the expected scores of the paired columns."""
    paired = comparison.profile.paired
    sides = comparison.reference, comparison.window
    first, second = (side.sums["location"][paired] for side in sides)
    scatter = comparison.reference.sums["scatter"], comparison.window.sums["scatter"]
    return covariance_of((sides[0].n_rows, sides[1].n_rows), (first, second), scatter)


def dependence_part(comparison: Comparison) -> Component | None:
    """Test of the products of expected scores.

    What is expected of a missing cell follows a straight line. Where the conditions changed under which a column is
    missing, that line was learned from other rows than it is applied to: what that explains is taken off.
    """
    profile, layout = comparison.profile, comparison.profile.layout
    pairs = sound_products(comparison)
    if not profile.direct:
        return _many_products(comparison, pairs)
    draws = _draws(comparison.values_null, layout.dependence)
    one_by_one = min_p("dependence", pairs, draws)
    if not comparison.equal_rates or comparison.observed.explained.any() or _is_of_other_rows(comparison, pairs):
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


def _many_products(comparison: Comparison, products: Contrast) -> Component | None:
    """Test by the product that changed most surely, of so many that the correlation of all with all is not known.

    Columns that go together have products that do, and fewer tests that count than there are products.
    """
    products = _with_longer_short_tails(products)
    apart = min_p("dependence", products, None)
    if apart is None:
        return None
    profile, reference = comparison.profile, comparison.reference
    first, second = profile.layout.pairs
    places = first[products.usable], second[products.usable]
    largest = largest_products(_within(reference, profile.paired), places, reference.n_rows)
    number = min(effective_number(2.0 * ndtr(-largest)), len(places[0]))
    smallest = float(entry_p_values(products).min())
    return replace(apart, p_value=sidak(smallest, number))


def _with_longer_short_tails(products: Contrast) -> Contrast:
    """Products with less skewness where they lie in their short tail.

    Of a mean of rare products nearly nothing is left in that tail, so that p-values there depend on the skewness far
    more than anywhere else, and the reference's rows know it roughly only: of thousands of products those alarmed whose
    skewness happened to be too large (eight columns of 25 categories, windows of 100 rows: 0.08 to 0.13 at 0.05).
    """
    is_short = (standardised(products) * products.skewness < 0.0) & (np.abs(products.skewness) > ROUGHLY_SYMMETRIC)
    return replace(products, skewness=np.where(is_short, SHORT_TAIL * products.skewness, products.skewness))


def _is_of_other_rows(comparison: Comparison, pairs: Contrast) -> bool:
    """Whether rows are compared that depend on each other otherwise than those of the reference: drifted ones.

    `compared_with` compares windows with each other. The model was learned from the reference; how products of drifted
    rows correlate is not known.
    """
    profile, reference = comparison.profile, comparison.reference
    if not isinstance(profile.precision, DensePrecision):
        return False
    modelled = _model_covariance(profile)
    found = (reference.sums["scatter"] + reference.sums["hidden"]) / reference.n_rows
    away = np.abs(found - modelled)[profile.layout.pairs]
    error = np.sqrt(pairs.variance * (1.0 / reference.n_rows + 1.0 / profile.n_learned))
    return bool(np.any((away > OTHER_ROWS * error)[pairs.usable]))


def sound_products(comparison: Comparison) -> Contrast:
    """Products of expected scores, without what is explained otherwise; those of too few rows are not usable.

    Changed conditions of missing cells explain some, and so do changed rates where a factor model is incomplete.
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
    sides = comparison.reference, comparison.window
    for share, side in zip(comparison.missing_together.at_most(), sides, strict=True):
        sound &= share * side.n_rows >= MIN_TOGETHER
    sound &= _are_learned(comparison, first, second)
    return replace(pairs, usable=pairs.usable & sound, smooth=pairs.smooth & sound)


def _missed_by_factors(comparison: Comparison, pairs: Contrast) -> Vector:
    """Standard deviations that changed rates may explain of products whose hidden part comes from a factor model.

    Factors cannot represent every correlation, such as that of a column with its copy. Where both cells are observed,
    in a share q of the reference's rows, a product has the true mean, and elsewhere that of the factors: together they
    are q (truth - factors) apart from these. With a share p of the window's rows they move by p - q times what the
    factors miss, which the reference shows up to its standard error.
    """
    profile, reference = comparison.profile, comparison.reference
    if not isinstance(profile.precision, FactorPrecision) or comparison.equal_rates:
        return np.zeros(len(pairs.difference))
    modelled = _model_covariance(profile)
    found = (reference.sums["scatter"] + reference.sums["hidden"]) / reference.n_rows
    q, p = shares_of_pairs(profile, reference, comparison.window)
    error = np.sqrt(pairs.variance / reference.n_rows)
    missed = np.abs(found - modelled)[profile.layout.pairs] + FACTOR_ERRORS * error
    return np.asarray(np.abs(p - q) / q * missed / np.sqrt(np.maximum(pairs.variance * pairs.scale, 1e-12)))


def _is_learned(comparison: Comparison) -> Mask:
    """Whether what is expected of each input column was learned from enough rows, or from others: (input columns,).

    Otherwise the line that fills its missing cells fits the reference better than any window.
    """
    rates, n_rows = comparison.missing_rates[0], comparison.reference.n_rows
    enough = (1.0 - rates) * n_rows >= ROWS_PER_COLUMN * len(comparison.profile.owner)
    return np.asarray(comparison.profile.apart | (rates == 0.0) | enough)


def _are_learned(comparison: Comparison, first: Indices, second: Indices) -> Mask:
    """Whether products of two input columns were learned from enough rows, or from others: (products,).

    Where missing rates differ these are rows that have both cells: what they teach of a product is then hidden in other
    shares of the rows on both sides.
    """
    profile, learned = comparison.profile, _is_learned(comparison)
    found: Mask = learned[first] & learned[second]
    if comparison.equal_rates:
        return found
    together = comparison.missing_together.at_most()[0]
    taught = together * profile.n_learned >= ROWS_PER_COLUMN * len(profile.owner)
    return np.asarray(found & ((together == 1.0) | taught))


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
    conditions = conditions_part(comparison)
    return conditions is not None and conditions.p_value < CLEARLY


def bins_part(comparison: Comparison) -> Component | None:
    """Test of the bins together.

    None where missing rates, or what values are missing at, clearly changed: shares of completed rows follow the model
    of the missing cells most closely. None either where bins lie along factors of the very rows that are compared:
    these are spread along them as no others are (161 independent columns, 0.3 missing: 3 of 3 windows alarmed).
    """
    profile, layout = comparison.profile, comparison.profile.layout
    if isinstance(profile.precision, FactorPrecision) and not profile.apart:
        return None
    if not comparison.equal_rates or _conditions_changed(comparison):
        return None
    bins = comparison.cautious.part(layout.bins)
    before, after = comparison.shares
    pooled = (before * bins.n_reference + after * bins.n_window) / bins.n_rows
    groups = merge_bins(pooled, min(bins.n_reference, bins.n_window), profile.centres)
    draws = _draws(comparison.values_null, layout.bins) * np.sqrt(bins.variance)
    covariance = groups @ comparison.covariance("bins", "bin_products") @ groups.T
    return _as_a_whole("bins", bins, groups @ bins.difference, covariance, draws @ groups.T)


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


def distributions_part(comparison: Comparison) -> tuple[Component | None, float]:
    """Test of the distribution of each column, by its observed cells; and its effect size."""
    tests = comparison.observed.tested
    p_values = np.array([test.p_value for test in tests.values()])
    of_cells = np.array([np.nan if test.of_cells is None else test.of_cells for test in tests.values()])
    places = np.array(list(tests), dtype=np.intp)
    found = comparison.observed_null.distributions_test(p_values, of_cells, places, _closer(comparison, places))
    return found, min(tests.values(), key=lambda test: test.p_value).effect_size if tests else 0.0


def _closer(comparison: Comparison, columns: Indices) -> float:
    """How much more the statistics of observed cells of two columns correlate than draws of the reference show.

    Of cells that are missing independently, a share q of which is observed, means of two columns correlate by q times
    what rows with both do; of two sides, by (1/m + 1/n) / (1/(q m) + 1/(p n)) times.
    """
    m, n = comparison.reference.n_rows, comparison.window.n_rows
    q, p = (np.maximum(1.0 - rates[columns], 1e-6) for rates in comparison.missing_rates)
    both = (1.0 / m + 1.0 / n) / (1.0 / (q * m) + 1.0 / (p * n))
    return max(float(both.sum() / q.sum()), 1.0) if len(columns) else 1.0


def interactions_part(comparison: Comparison) -> tuple[Component | None, float]:
    """Test of products of observed cells, but for plain ones, which dependence tests better; and its effect size."""
    crossed = comparison.observed.crossed
    tested = np.flatnonzero(crossed.usable & ~crossed.is_plain)
    if not len(tested):
        return None, 0.0
    surest = tested[crossed.p_values[tested].argmin()]
    found = comparison.observed_null.interactions_test(float(crossed.p_values[surest]), len(tested))
    return found, float(crossed.effects[surest])


def conditions_part(comparison: Comparison) -> Component | None:
    """Test of the values of others at which columns are missing, one by one and together."""
    p_values = comparison.observed.mechanism.p_values
    tested = p_values < 1.0
    if not tested.any():
        return None
    number, together = int(tested.sum()), comparison.observed.mechanism.together
    # Taken as independent of each other and of all other tests.
    simulated = np.random.default_rng(4).random(N_DRAWS)
    p_value = sidak(float(p_values.min()), number)
    if together < 1.0:
        p_value = sidak(min(p_value, together), 2)
    return Component("conditions", p_value, simulated, degrees_of_freedom=number)


def rates_part(comparison: Comparison) -> Component | None:
    """Test of the missing rates, together and one by one."""
    layout = comparison.profile.layout
    draws = _draws(comparison.missing_null, layout.rates)
    one_by_one = min_p("rates", comparison.contrast.part(layout.rates), draws)
    return combine("rates", [(_rates_together(comparison, draws), 0.5), (one_by_one, 0.5)])


def patterns_part(comparison: Comparison) -> Component | None:
    """Test of the pairs of columns that are missing together."""
    patterns = comparison.profile.layout.patterns
    return min_p("patterns", comparison.contrast.part(patterns), _draws(comparison.missing_null, patterns))


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
        # It is estimated from the rows of the reference only.
        freedom = max(comparison.missing_null.n_effective - 1, 1)
    else:
        return None
    return _as_a_whole("rates", rates, rates.difference[smooth], covariance, draws[:, smooth], freedom)


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
