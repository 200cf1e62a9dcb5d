"""What a window of some rows will find: windows drawn from what the reference knows of itself, changed and tested."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from gapdrift._typing import Indices, Mask, Matrix, Vector
from gapdrift.detectors.drift.reference import DriftReference
from gapdrift.detectors.usual import Usual
from gapdrift.results.sensitivity import ColumnSensitivity
from gapdrift.tables.encoding import ONE_HOT, Encoded

__all__ = ["WindowSimulator", "column_sensitivity"]

N_WINDOWS = 24
"""Windows that tell the power at one size of a change."""

N_STEPS = 4
"""Sizes of a change that are tried, at most."""

CLOSE = 0.03
"""Difference of the power from the one asked for that is small enough."""

MAX_SHIFT = 4.0
"""Largest shift that is tried, in standard deviations."""

RARE = 0.02
"""Share of the rows below which a category is rare."""

Change = Callable[[Matrix, Mask, Vector, np.random.Generator], None]
"""Changes in place: scores, (rows, matrix columns), missing cells, (rows, input columns), and what is added to values.

Scores end where those of the reference do, values go on. One number is added to all values of a matrix column.
"""


class WindowSimulator:
    """Draws windows as the reference would have them: Gaussian scores, the columns' own distributions, missing rates.

    Categories depend on numbers and on each other as far as correlations tell.

    The reference is a sample too: the truth that windows are drawn from differs from it as another sample of its size
    would. With batches, a window has the effect of one of them, drawn at random.

    Parameters
    ----------
    reference : DriftReference
    usual : Usual or None
    n_rows : int
    """

    def __init__(self, reference: DriftReference, usual: Usual | None, n_rows: int) -> None:
        self.reference, self.usual, self.n_rows = reference, usual, n_rows
        profile, evidence = reference.profile, reference.evidence
        size, paired = len(profile.owner), profile.paired
        self.rates = evidence.sums["missing"] / evidence.n_rows
        self.means = evidence.sums["location"] / evidence.n_rows + profile.mean
        products = (evidence.sums["scatter"] + evidence.sums["hidden"]) / evidence.n_rows
        centred = self.means[paired] - profile.mean[paired]
        self.covariance = np.eye(size)
        self.covariance[np.ix_(paired, paired)] = products - np.outer(centred, centred)
        if usual is not None:
            self.covariance[np.ix_(paired, paired)] = usual.within["location"] / usual.table.n_rows.sum()

    @cached_property
    def deviation(self) -> Vector:
        """Standard deviations of the scores."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 1e-12))

    @cached_property
    def factor(self) -> Matrix:
        """Root of the covariance of one row."""
        values, vectors = np.linalg.eigh(self.covariance)
        root: Matrix = vectors * np.sqrt(np.maximum(values, 0.0))
        return root

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
        profile = self.reference.profile
        offset, rates = self._truth(rng)
        means = self.means + offset
        scores = means + rng.normal(size=(self.n_rows, len(means))) @ self.factor.T
        for own, known, slopes in self.category_columns:
            # Probabilities that are linear in what was drawn before have the covariance that the reference has.
            expected = means[own] + (scores[:, known] - means[known]) @ slopes
            scores[:, own] = _drawn_categories(expected, rng)
        missing = rng.random((self.n_rows, len(rates))) < rates
        added = np.zeros(scores.shape[1])
        change(scores, missing, added, rng)
        values = np.zeros_like(scores)
        for place, pair in enumerate(profile.scores.knots):
            if pair is not None:
                values[:, place] = np.interp(scores[:, place], pair[1], np.clip(pair[0], -1e99, 1e99)) + added[place]
        for own, _, _ in self.category_columns:
            # The largest score: the category that was drawn, or the one that a change chose.
            values[np.arange(self.n_rows), own[scores[:, own].argmax(axis=1)]] = ONE_HOT
        values[missing[:, profile.owner]] = np.nan
        return Encoded(values, missing.astype(bool))

    def category_shares(self, own: Any) -> Vector:
        """Shares of the categories behind some matrix columns."""
        shares = np.clip(self.means[own] / ONE_HOT, 1e-6, None)
        return np.asarray(shares / shares.sum())

    def _truth(self, rng: np.random.Generator) -> tuple[Vector, Vector]:
        """Difference of the true means from those of the reference, and the true missing rates."""
        offset = np.zeros(len(self.means))
        if self.usual is not None:
            table, batch = self.usual.table, int(rng.integers(len(self.usual.table)))
            location = table.blocks["location"]
            offset[self.reference.profile.paired] = location[batch] - location.mean(axis=0)
            return offset, np.sin(table.blocks["rates"][batch]) ** 2
        n_reference = self.reference.evidence.n_rows
        offset = self.factor @ rng.normal(size=len(offset)) / np.sqrt(n_reference)
        return offset, rng.binomial(n_reference, np.clip(self.rates, 0.0, 1.0)) / n_reference


def _drawn_categories(expected: Matrix, rng: np.random.Generator) -> Matrix:
    """One-hot columns of categories drawn by their expected values."""
    shares = np.clip(expected / ONE_HOT, 1e-6, None)
    ends = np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1)
    chosen = np.minimum((ends < rng.random((len(ends), 1))).sum(axis=1), ends.shape[1] - 1)
    cells = np.zeros_like(expected)
    cells[np.arange(len(cells)), chosen] = ONE_HOT
    return cells


def column_sensitivity(
    simulator: WindowSimulator, p_value_of: Callable[[Encoded], float], column: int, wanted: tuple[float, float, int]
) -> ColumnSensitivity:
    """Smallest changes of one input column that are found.

    Parameters
    ----------
    simulator : WindowSimulator
    p_value_of : callable
        p-value of a window.
    column : int
    wanted : tuple
        Power, alpha, and the seed of the windows, which are the same for all sizes of a change.
    """
    reference = simulator.reference
    profile, name = reference.profile, reference.schema.columns[column].name
    own = np.flatnonzero(profile.owner == column)
    rate = float(simulator.rates[column])

    def search(change_of: Callable[[float], Change], first: float, largest: float) -> float | None:
        return _smallest(lambda size: _power(simulator, p_value_of, change_of(size), wanted), first, largest, wanted[0])

    first = 4.0 / np.sqrt(simulator.n_rows)
    more = search(
        lambda size: _hide_more(column, rate, size), 2.0 * first * np.sqrt(rate * (1 - rate) + 0.01), 1.0 - rate
    )
    missing = None if more is None else rate + more
    if not len(own):
        return ColumnSensitivity(name, None, None, rate, missing)
    if profile.is_category[own[0]]:
        # To the rarest that is not so rare that it would be told as new.
        shares = simulator.category_shares(own)
        least = int(own[np.argmin(np.where(shares > RARE, shares, 1.0))])
        moved = search(lambda size: _recode(least, size), first / 2.0, 1.0)
        return ColumnSensitivity(name, moved, None, rate, missing)
    place = int(own[0])
    shift = search(lambda size: _shift(simulator, place, size), first, MAX_SHIFT)
    partner, before, after = _correlation(simulator, place, search)
    unit = _unit(simulator, place)
    return ColumnSensitivity(
        name, None if shift is None else shift * unit, shift, rate, missing, partner, before, after
    )


def _power(
    simulator: WindowSimulator, p_value_of: Callable[[Encoded], float], change: Change, wanted: tuple[float, float, int]
) -> float:
    """Probability that a change is found: p-values as normal deviates, whose spread tells more than counting alarms."""
    _, alpha, seed = wanted
    rng = np.random.default_rng(seed)
    p_values = [p_value_of(simulator.draw(change, rng)) for _ in range(N_WINDOWS)]
    deviates = -ndtri(np.clip(p_values, 1e-30, 1.0 - 1e-9))
    spread = max(float(np.std(deviates, ddof=1)), 0.3)
    return float(ndtr((float(np.mean(deviates)) + float(ndtri(alpha))) / spread))


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
    amount = size * _unit(simulator, place)

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
    simulator: WindowSimulator, place: int, search: Callable[..., float | None]
) -> tuple[str | None, float | None, float | None]:
    """Column that another is most correlated with, their correlation, and the nearest one that is found."""
    profile = simulator.reference.profile
    numbers = np.flatnonzero(~profile.is_category)
    others = numbers[numbers != place]
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


def _unit(simulator: WindowSimulator, place: int) -> float:
    """Standard deviation of a column's values, by the quantiles that its scores know."""
    knots = simulator.reference.profile.scores.knots[place]
    assert knots is not None  # a column of numbers
    levels = ndtri((np.arange(1_000) + 0.5) / 1_000)
    values = np.interp(levels, knots[1], np.clip(knots[0], -1e99, 1e99))
    return max(float(np.std(values)), 1e-12)
