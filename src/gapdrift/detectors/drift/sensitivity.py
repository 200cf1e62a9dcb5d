"""What a window of some rows will find: windows drawn from what the reference knows of itself, changed and tested."""

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from gapdrift._typing import Indices, Mask, Matrix, Vector
from gapdrift.detectors.drift.quantiles import NumberColumn, fit_number_column
from gapdrift.detectors.drift.reference import DriftReference
from gapdrift.detectors.usual import Usual
from gapdrift.results.sensitivity import ColumnSensitivity
from gapdrift.tables.encoding import ONE_HOT, Encoded

__all__ = ["CHANGES", "Wanted", "WindowSimulator", "column_sensitivity"]

CHANGES = ("values", "missing", "correlation")
"""What can be changed: the mean or the category of values, the missing rate, the correlation with another column."""

N_WINDOWS = 32
"""Windows that tell the power at one size of a change."""

N_STEPS = 5
"""Sizes of a change that are tried, at most."""

CLOSE = 0.03
"""Difference of the power from the one asked for that is small enough."""

MAX_SHIFT = 4.0
"""Largest shift that is tried, in standard deviations."""

RARE = 0.02
"""Share of the rows below which a category is rare."""

MAX_SAMPLE = 5_000
"""Rows of a sample that tells how a reference may differ from the truth, at most."""

N_RANKS = 501
"""Ranks at which the distribution of a column in such a sample is kept."""

Change = Callable[[Matrix, Mask, Vector, np.random.Generator], None]
"""Changes in place: scores, (rows, matrix columns), missing cells, (rows, input columns), and what is added to values.

Scores end where those of the reference do, values go on. One number is added to all values of a matrix column, or on
the average where they are rounded.
"""


class Truth(NamedTuple):
    """What windows are drawn from: one that the reference may come from.

    Parameters
    ----------
    offset : (matrix columns,) array
        Difference of the mean scores from those of the reference.
    factor : (matrix columns, matrix columns) array
        Root of the covariance of the scores of one row.
    ranks : (rows, matrix columns) array or None
        In each column, ranks within the reference, from 0 to 1, of evenly spaced quantiles; None where they are equal.
    rates : (input columns,) array
        Missing rates.
    """

    offset: Vector
    factor: Matrix
    ranks: Matrix | None
    rates: Vector


class WindowSimulator:
    """Draws windows as the reference would have them: Gaussian scores, the columns' own distributions, missing rates.

    Categories depend on numbers and on each other as far as correlations tell.

    Parameters
    ----------
    reference : DriftReference
    usual : Usual or None
    n_rows : int

    Notes
    -----
    The reference is a sample too. Each window is drawn from a truth of its own, which differs from the reference as
    another sample of its size would: in the distribution of each column, in correlations and in missing rates. Windows
    drawn from the reference itself would be too much like it, and those with a change too different from it, where a
    test looks at what only chance made equal. With batches, a window has the effect of one of them, drawn at random.
    """

    def __init__(self, reference: DriftReference, usual: Usual | None, n_rows: int) -> None:
        self.reference, self.usual, self.n_rows = reference, usual, n_rows
        profile, evidence = reference.profile, reference.evidence
        size, paired = len(profile.owner), profile.paired
        self.rates = np.clip(evidence.sums["missing"] / evidence.n_rows, 0.0, 1.0)
        self.means = evidence.sums["location"] / evidence.n_rows + profile.mean
        products = (evidence.sums["scatter"] + evidence.sums["hidden"]) / evidence.n_rows
        centred = self.means[paired] - profile.mean[paired]
        self.covariance = np.eye(size)
        self.covariance[np.ix_(paired, paired)] = products - np.outer(centred, centred)
        self.total_deviation = np.sqrt(np.maximum(np.diag(self.covariance), 1e-12))
        if usual is not None:
            self.covariance[np.ix_(paired, paired)] = usual.basis["within"]

    @cached_property
    def deviation(self) -> Vector:
        """Standard deviations of the scores of one window."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 1e-12))

    @cached_property
    def factor(self) -> Matrix:
        """Root of the covariance of one row."""
        return _root(self.covariance)

    @cached_property
    def numbers(self) -> dict[int, NumberColumn]:
        """Columns of numbers, by their matrix columns."""
        reference, found = self.reference, {}
        ends = np.cumsum([len(axis) for axis in reference.histogram_axes])
        for place, pair in enumerate(reference.profile.scores.knots):
            if pair is not None:
                column = int(reference.profile.owner[place])
                axis = reference.histogram_axes[column]
                counts = reference.evidence.sums["cells"][ends[column] - len(axis) : ends[column]]
                found[place] = fit_number_column(axis, counts, np.clip(pair[0], -1e99, 1e99))
        return found

    @cached_property
    def category_columns(self) -> list[tuple[Indices, Indices, Matrix]]:
        """Of each category: its matrix columns, those drawn before it, and coefficients of a regression on these."""
        profile = self.reference.profile
        known, found = np.flatnonzero(~profile.is_category), []
        for column in np.unique(profile.owner[profile.is_category]):
            own = np.flatnonzero(profile.owner == column)
            within = self.covariance[np.ix_(known, known)]
            slopes = np.linalg.pinv(within, rcond=1e-6, hermitian=True) @ self.covariance[np.ix_(known, own)]
            found.append((own, known, slopes))
            known = np.concatenate([known, own])
        return found

    def draw(self, change: Change, rng: np.random.Generator) -> Encoded:
        """One window with a change."""
        profile, truth = self.reference.profile, self._truth(rng)
        means = self.means + truth.offset
        scores = means + rng.normal(size=(self.n_rows, len(means))) @ truth.factor.T
        for own, known, slopes in self.category_columns:
            # Probabilities that are linear in what was drawn before have the covariance that the reference has.
            expected = means[own] + (scores[:, known] - means[known]) @ slopes
            scores[:, own] = _drawn_categories(expected, rng)
        missing = rng.random((self.n_rows, len(truth.rates))) < truth.rates
        added = np.zeros(scores.shape[1])
        change(scores, missing, added, rng)
        values = np.zeros_like(scores)
        for place, column in self.numbers.items():
            ranks = ndtr((scores[:, place] - self.means[place]) / self.total_deviation[place])
            beyond = np.zeros(1)
            if added[place]:
                ranks, beyond = column.shifted_ranks(ranks, float(added[place]))
            if truth.ranks is not None:
                ranks = np.interp(ranks, np.linspace(0.0, 1.0, len(truth.ranks)), truth.ranks[:, place])
            values[:, place] = column.values_at(ranks) + beyond
        for own, _, _ in self.category_columns:
            # The largest score: the category that was drawn, or the one that a change chose.
            values[np.arange(self.n_rows), own[scores[:, own].argmax(axis=1)]] = ONE_HOT
        values[missing[:, profile.owner]] = np.nan
        return Encoded(values, missing.astype(bool))

    def category_shares(self, own: Any) -> Vector:
        """Shares of the categories behind some matrix columns."""
        shares = np.clip(self.means[own] / ONE_HOT, 1e-6, None)
        return np.asarray(shares / shares.sum())

    def _truth(self, rng: np.random.Generator) -> Truth:
        return self._truth_of_sample(rng) if self.usual is None else self._truth_of_batch(self.usual, rng)

    def _truth_of_sample(self, rng: np.random.Generator) -> Truth:
        """Truth that another sample of the reference's size, drawn as it is, would tell.

        Of more rows than `MAX_SAMPLE` as many are drawn, and what they differ by is scaled down.
        """
        n_reference = self.reference.evidence.n_rows
        n_drawn = min(n_reference, MAX_SAMPLE)
        share = float(np.sqrt(n_drawn / n_reference))
        rows = rng.normal(size=(n_drawn, len(self.means))) @ self.factor.T
        hidden = (rng.random((n_drawn, len(self.rates))) < self.rates)[:, self.reference.profile.owner]
        offset = np.zeros(len(self.means))
        ranks = np.tile(np.linspace(0.0, 1.0, N_RANKS)[:, None], len(self.means))
        for place, is_category in enumerate(self.reference.profile.is_category):
            observed = rows[~hidden[:, place], place]
            if is_category:
                offset[place] = share * observed.mean() if len(observed) else 0.0
            elif len(observed):
                own = np.sort(ndtr(observed / self.deviation[place]))
                levels = np.linspace(0.0, 1.0, len(own) + 2)
                drawn = np.interp(ranks[:, place], levels, np.concatenate([[0.0], own, [1.0]]))
                ranks[:, place] += share * (drawn - ranks[:, place])
        covariance = (1.0 - share) * self.covariance + share * (rows.T @ rows) / n_drawn
        factor = _root(covariance) * (self.deviation / np.sqrt(np.maximum(np.diag(covariance), 1e-12)))[:, None]
        return Truth(offset, factor, ranks, rng.binomial(n_reference, self.rates) / n_reference)

    def _truth_of_batch(self, usual: Usual, rng: np.random.Generator) -> Truth:
        """Truth of one of the batches, drawn at random, without what chance explains of how it differs from others."""
        table, batch = usual.table, int(rng.integers(len(usual.table)))
        location, paired = table.blocks["location"], self.reference.profile.paired
        away = location[batch] - location.mean(axis=0)
        by_chance = np.diag(self.covariance)[paired] * float(np.mean(1.0 / table.n_rows))
        between = 1.0 - by_chance / np.maximum(location.var(axis=0, ddof=1), 1e-12)
        offset = np.zeros(len(self.means))
        offset[paired] = away * np.sqrt(np.maximum(between, 0.0))
        return Truth(offset, self.factor, None, np.sin(table.blocks["rates"][batch]) ** 2)


def _root(covariance: Matrix) -> Matrix:
    """Matrix that turns independent scores into those with a covariance."""
    values, vectors = np.linalg.eigh(covariance)
    root: Matrix = vectors * np.sqrt(np.maximum(values, 0.0))
    return root


def _drawn_categories(expected: Matrix, rng: np.random.Generator) -> Matrix:
    """One-hot columns of categories drawn by their expected values."""
    shares = np.clip(expected / ONE_HOT, 1e-6, None)
    ends = np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1)
    chosen = np.minimum((ends < rng.random((len(ends), 1))).sum(axis=1), ends.shape[1] - 1)
    cells = np.zeros_like(expected)
    cells[np.arange(len(cells)), chosen] = ONE_HOT
    return cells


class Wanted(NamedTuple):
    """What is asked of each column.

    Parameters
    ----------
    power, alpha : float
    changes : collection of str
        Some of `CHANGES`.
    partner : int or None
        Input column whose correlation with others is changed; None means the one that each goes with most.
    seed : int
        Of the windows, which are the same for all sizes of a change.
    """

    power: float
    alpha: float
    changes: Collection[str]
    partner: int | None
    seed: int


def column_sensitivity(
    simulator: WindowSimulator, p_value_of: Callable[[Encoded], float], column: int, wanted: Wanted
) -> ColumnSensitivity:
    """Smallest changes of one input column that are found.

    Parameters
    ----------
    simulator : WindowSimulator
    p_value_of : callable
        p-value of a window.
    column : int
    wanted : Wanted
    """
    profile = simulator.reference.profile
    own = np.flatnonzero(profile.owner == column)
    rate = float(simulator.rates[column])
    found = ColumnSensitivity(simulator.reference.schema.columns[column].name, None, None, rate, None)

    def search(change_of: Callable[[float], Change], first: float, largest: float) -> float | None:
        power_at = lambda size: _power(simulator, p_value_of, change_of(size), wanted)  # noqa: E731
        return _smallest(power_at, first, largest, wanted.power)

    first = 4.0 / np.sqrt(simulator.n_rows)
    if "missing" in wanted.changes:
        deviation = np.sqrt(rate * (1 - rate) + 0.01)
        more = search(lambda size: _hide_more(column, rate, size), 2.0 * first * deviation, 1.0 - rate)
        found = replace(found, missing=None if more is None else rate + more)
    if not len(own):
        return found
    if profile.is_category[own[0]]:
        return replace(found, shift=_recoded(simulator, own, search) if "values" in wanted.changes else None)
    place = int(own[0])
    if "values" in wanted.changes:
        shift = search(lambda size: _shift(simulator, place, size), first, MAX_SHIFT)
        in_unit = None if shift is None else shift * simulator.numbers[place].deviation
        found = replace(found, shift=in_unit, shift_in_deviations=shift)
    if "correlation" in wanted.changes:
        partner, before, after = _correlation(simulator, place, wanted.partner, search)
        found = replace(found, partner=partner, correlation_before=before, correlation=after)
    return found


def _recoded(simulator: WindowSimulator, own: Indices, search: Callable[..., float | None]) -> float | None:
    """Share of the rows that change to another category."""
    # To the rarest that is not so rare that it would be told as new.
    shares = simulator.category_shares(own)
    least = int(own[np.argmin(np.where(shares > RARE, shares, 1.0))])
    return search(lambda size: _recode(least, size), 2.0 / np.sqrt(simulator.n_rows), 1.0)


def _power(simulator: WindowSimulator, p_value_of: Callable[[Encoded], float], change: Change, wanted: Wanted) -> float:
    """Probability that a change is found: p-values as normal deviates, whose spread tells more than counting alarms."""
    rng = np.random.default_rng(wanted.seed)
    p_values = [p_value_of(simulator.draw(change, rng)) for _ in range(N_WINDOWS)]
    deviates = -ndtri(np.clip(p_values, 1e-30, 1.0 - 1e-9))
    spread = max(float(np.std(deviates, ddof=1)), 0.3)
    return float(ndtr((float(np.mean(deviates)) + float(ndtri(wanted.alpha))) / spread))


def _smallest(power_at: Callable[[float], float], first: float, largest: float, power: float) -> float | None:
    """Size of a change at which the power is the one asked for; None where it is not even at the largest."""
    low, low_z, high, high_z = 0.0, -1.6, None, 0.0
    size, target = min(first, largest), float(ndtri(power))
    for _ in range(N_STEPS):
        size = float(size)
        found = power_at(size)
        z = float(ndtri(min(max(found, 1e-6), 1.0 - 1e-6)))
        if abs(found - power) < CLOSE:
            return size
        if z > target:
            high, high_z = size, z
        elif size >= largest:
            return None
        else:
            low, low_z = size, z
        if high is None:
            size = min(2.0 * size, largest)
        else:
            share = np.clip((target - low_z) / max(high_z - low_z, 1e-9), 0.15, 0.85)
            size = low + float(share) * (high - low)
    return size


def _shift(simulator: WindowSimulator, place: int, size: float) -> Change:
    """Change of a column's values by some of their standard deviations."""
    amount = size * simulator.numbers[place].deviation

    def change(_scores: Matrix, _missing: Mask, added: Vector, _rng: np.random.Generator) -> None:
        added[place] = amount

    return change


def _hide_more(column: int, rate: float, size: float) -> Change:
    def change(_scores: Matrix, missing: Mask, _added: Vector, rng: np.random.Generator) -> None:
        missing[:, column] |= rng.random(len(missing)) < size / max(1.0 - rate, 1e-9)

    return change


def _recode(place: int, size: float) -> Change:
    def change(scores: Matrix, _missing: Mask, _added: Vector, rng: np.random.Generator) -> None:
        scores[rng.random(len(scores)) < size, place] = np.inf

    return change


def _correlation(
    simulator: WindowSimulator, place: int, partner: int | None, search: Callable[..., float | None]
) -> tuple[str | None, float | None, float | None]:
    """Column that another is most correlated with, or the one asked for, their correlation, and one that is found."""
    profile = simulator.reference.profile
    numbers = np.flatnonzero(~profile.is_category)
    others = numbers[(numbers != place) & ((partner is None) | (profile.owner[numbers] == partner))]
    if not len(others):
        return None, None, None
    deviation = simulator.deviation
    row = simulator.covariance[place, others] / (deviation[place] * deviation[others])
    surest = int(np.abs(row).argmax())
    other, before = int(others[surest]), float(np.asarray(row, dtype=float)[surest])
    before = min(max(before, -0.999), 0.999)
    sign = 1.0 if before >= 0 else -1.0

    def change_of(size: float) -> Change:
        after = float(np.clip(before - sign * size, -0.999, 0.999))

        def change(scores: Matrix, _missing: Mask, _added: Vector, _rng: np.random.Generator) -> None:
            one = (scores[:, place] - simulator.means[place]) / deviation[place]
            two = (scores[:, other] - simulator.means[other]) / deviation[other]
            rest = (one - before * two) * np.sqrt((1.0 - after**2) / (1.0 - before**2))
            scores[:, place] = simulator.means[place] + deviation[place] * (after * two + rest)

        return change

    found = search(change_of, 4.0 / np.sqrt(simulator.n_rows), abs(before) + 0.99)
    name = simulator.reference.schema.columns[int(profile.owner[other])].name
    return name, before, None if found is None else before - sign * found
