"""Findings of a contrast: values, missingness, features, and the verdict they add up to."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from gapdrift.counting.profile import Profile
from gapdrift.inference.combination import Component, Null, adjust, combine, effective_number, largest, make_null, wald
from gapdrift.inference.contrast import Contrast, entry_p_values, standardised
from gapdrift.inference.pearson import SMALLEST_P
from gapdrift.results.result import Finding

__all__ = ["FeatureTests", "combine_verdict", "holm", "test_features", "test_missingness", "test_values"]

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

VALUES_SHARE = 0.9
"""Share of the false alarms that the verdict spends on values; the rest is for missingness."""

ROWS_PER_RANK = 10
"""Rows for each direction of a Wald test, at least."""

MIN_EXPECTED = 5.0
"""Rows that the smaller side must expect in a bin; smaller bins are merged with their nearest."""


@dataclass(frozen=True)
class FeatureTests:
    """p-values and effect sizes of the input columns: (columns,) arrays."""

    p_values: Vector
    effects: Vector


def merge_bins(shares: Vector, n_rows: int, centres: Matrix) -> Matrix:
    """Sums of bins in which each expects enough rows: (merged, bins) array of 0 and 1.

    The smallest bin goes to its nearest until all of ``n_rows`` x share are large enough, or two are left.

    Examples
    --------
    >>> import numpy as np
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


def test_values(
    contrast: Contrast, profile: Profile, bin_shares: Vector, n_known: int | None = None
) -> tuple[Finding, Null]:
    """Finding of the values, with its parts location, dependence and bins, and the null draws behind it.

    Parameters
    ----------
    contrast : Contrast
    profile : Profile
    bin_shares : (bins,) array
    n_known : int, optional
        Rows that know the covariance of the products of columns, if not those of both sides; with 0 they are tested
        one by one, not together.
    """
    layout = profile.layout
    smaller = min(contrast.n_reference, contrast.n_window)
    groups = merge_bins(bin_shares, smaller, profile.centres)
    plain = layout.bins.start
    matrix = np.zeros((plain + len(groups), layout.bins.stop))
    matrix[:plain, :plain] = np.eye(plain)
    matrix[plain:, layout.bins] = groups
    joint = contrast.part(slice(0, layout.bins.stop)).mapped(matrix)
    null = make_null(joint)
    rank = max((contrast.freedom + 2) // ROWS_PER_RANK, 2)
    location = _test_location(contrast.part(layout.location), _part(null, layout.location), profile, rank)
    dependence = _test_dependence(contrast.part(layout.dependence), _part(null, layout.dependence), n_known)
    bins_block = slice(plain, plain + len(groups))
    bins = wald("bins", joint.part(bins_block), _part(null, bins_block), rank)
    finding = _combine_findings("values", [(location, 1.0), (dependence, 1.0), (bins, 0.5)])
    return finding, null


def test_missingness(contrast: Contrast, profile: Profile) -> Finding | None:
    """Finding of the gaps, with its parts rates and patterns; None where nothing is missing on either side."""
    layout = profile.layout
    start = layout.rates.start
    joint = contrast.part(slice(start, layout.patterns.stop))
    if not joint.usable.any():
        return None
    null = make_null(joint)
    rates, patterns = slice(0, layout.patterns.start - start), slice(layout.patterns.start - start, None)
    rank = max((contrast.freedom + 2) // ROWS_PER_RANK, 2)
    one = _together(
        "rates",
        [
            (wald("rates", joint.part(rates), _part(null, rates), rank), 0.5),
            (largest("rates", joint.part(rates), null.draws[:, rates]), 0.5),
        ],
    )
    two = largest("patterns", joint.part(patterns), null.draws[:, patterns])
    return _combine_findings("missingness", [(one, 1.0), (two, 0.5)])


def test_features(contrast: Contrast, profile: Profile, null: Null, differences: Vector) -> FeatureTests:
    """p-value and effect size of each input column: its own location and every product it takes part in.

    Notes
    -----
    A column that moves by itself drags its products with others along. Such a product is laid to the others only
    where it moved farther, in standard deviations, than the column itself.
    """
    n_columns = profile.layout.rates.stop - profile.layout.rates.start
    plain = contrast.part(slice(0, profile.layout.dependence.stop))
    p_values, scores = entry_p_values(plain), np.abs(standardised(plain))
    usable = contrast.usable
    effects = differences * _units(profile)
    alone = _moved_alone(profile, scores, n_columns)
    found = FeatureTests(np.ones(n_columns), np.zeros(n_columns))
    for column in range(n_columns):
        smallest = []
        for entries in _entries_of(profile, column):
            chosen = entries[usable[entries]]
            if len(chosen):
                draws = 2.0 * ndtr(-np.abs(null.draws[:, chosen]).max(axis=1))
                blamed = chosen[scores[chosen] > _dragged(profile, chosen, column, alone)]
                least = float(p_values[blamed].min(initial=1.0))
                smallest.append(adjust(least, effective_number(draws)))
                found.effects[column] = max(found.effects[column], float(effects[blamed].max(initial=0.0)))
        if smallest:
            found.p_values[column] = max(adjust(min(smallest), len(smallest)), SMALLEST_P)
    return found


def _moved_alone(profile: Profile, scores: Vector, n_columns: int) -> Vector:
    """How far each input column moved by itself, in standard deviations of the difference: (input columns,)."""
    alone = np.zeros(n_columns)
    np.maximum.at(alone, profile.owner, scores[profile.layout.location])
    if profile.direct:
        first, second = profile.owner[profile.products]
        own = first == second
        np.maximum.at(alone, first[own], scores[profile.layout.dependence][own])
    return alone


def _dragged(profile: Profile, entries: NDArray[np.intp], column: int, alone: Vector) -> Vector:
    """How far entries move because of another column than this one; below zero for those of this column alone."""
    products = entries - profile.layout.dependence.start
    if (products < 0).all():
        return np.full(len(entries), -1.0)
    first, second = profile.owner[profile.products][:, products]
    other = np.where(first == column, second, first)
    return np.where(other == column, -1.0, alone[other])


def combine_verdict(values: Finding, missingness: Finding | None) -> float:
    """p-value of the verdict: values and gaps, which are nearly independent, share the false alarms."""
    if missingness is None or not missingness.determined:
        return values.p_value
    if not values.determined:
        return missingness.p_value
    share = VALUES_SHARE
    both = min(adjust(values.p_value, 1.0 / share), adjust(missingness.p_value, 1.0 / (1.0 - share)))
    return max(both, SMALLEST_P)


def holm(p_values: Vector) -> Vector:
    """p-values adjusted for their number, so that the chance of any false name is at most alpha (Holm).

    Examples
    --------
    >>> import numpy as np
    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p_values, kind="stable")
    raised = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(raised), 1.0)
    return adjusted


def _test_location(contrast: Contrast, null: Null, profile: Profile, rank: int) -> Component | None:
    if profile.direct:
        # What is too rare for a quadratic form is tested entry by entry.
        rough = replace(contrast, usable=contrast.usable & ~contrast.smooth)
        whole = wald("location", contrast, null, rank)
        return _together("location", [(whole, 0.8), (largest("location", rough, null.draws), 0.2)])
    # Beyond a few columns: their principal directions together, and the columns one by one.
    smooth = profile.directions * contrast.smooth[:, None]
    turned = contrast.mapped(smooth.T)
    deviation = np.sqrt(np.clip(np.diag(turned.covariance), 0.0, None))
    draws = (null.draws * null.deviation) @ smooth / np.where(deviation > 0, deviation, 1.0)
    along = wald("location", turned, Null(draws, deviation), rank)
    return _together("location", [(along, 0.5), (largest("location", contrast, null.draws), 0.5)])


def _test_dependence(contrast: Contrast, null: Null, n_known: int | None) -> Component | None:
    one = largest("dependence", contrast, null.draws)
    if n_known == 0:
        return one
    known = contrast if n_known is None else replace(contrast, n_known=n_known)
    rank = max((known.freedom + 2) // ROWS_PER_RANK, 2)
    together = wald("dependence", known, null, rank)
    return _together("dependence", [(one, 0.8), (together, 0.2)])


def _together(name: str, parts: list[tuple[Component | None, float]]) -> Component | None:
    present = [(component, weight) for component, weight in parts if component is not None]
    if not present:
        return None
    return combine(name, [component for component, _ in present], [weight for _, weight in present])


def _combine_findings(name: str, parts: list[tuple[Component | None, float]]) -> Finding:
    whole = _together(name, parts)
    if whole is None:
        return Finding(name, None, None, 1.0, None, reason="No statistic varies enough to be tested.")
    findings = tuple(
        Finding(c.name, c.statistic, c.degrees_of_freedom, max(c.p_value, SMALLEST_P), None)
        for c, _ in parts
        if c is not None
    )
    return Finding(name, None, None, max(whole.p_value, SMALLEST_P), None, parts=findings)


def _part(null: Null, block: slice) -> Null:
    return Null(null.draws[:, block], null.deviation[block])


def _entries_of(profile: Profile, column: int) -> list[NDArray[np.intp]]:
    """Statistics that speak about an input column: its location, and its products where they are its own."""
    own = np.flatnonzero(profile.owner == column)
    if not profile.direct:
        return [own]
    first, second = profile.owner[profile.products]
    products = np.flatnonzero((first == column) | (second == column))
    return [own, profile.layout.dependence.start + products]


def _units(profile: Profile) -> Vector:
    """Factors that bring differences to standard deviations, shares, or units of correlation."""
    units = np.ones(profile.layout.patterns.stop)
    units[profile.layout.location] = np.where(profile.is_level, np.sqrt(2.0), 1.0)
    units[profile.layout.dependence] = np.where(profile.products[0] == profile.products[1], 0.5, 1.0)
    return units
