"""What DriftDetector compares of a batch: functions of its evidence."""

from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from gapdrift._typing import Indices, Matrix, Vector
from gapdrift.counting.evidence import Evidence
from gapdrift.counting.profile import Profile
from gapdrift.inference.batch_models import Block
from gapdrift.inference.batches import Judgement, stacked
from gapdrift.inference.combination import sidak, sidak_all
from gapdrift.inference.pearson import SMALLEST_P
from gapdrift.tables.histograms import HistogramAxis

__all__ = ["BatchStatistics"]

Sums = Mapping[str, Vector]

RIDGE = 0.02
"""Smallest variance within batches of a combination of columns that is told apart, over that of one column."""

ASSOCIATION_RIDGE = 0.3
"""The same for how well columns follow the others within one batch: it has few rows."""

SMALLEST_SHARE = 0.02
"""Share of a column's variance over all rows below which its variance within a batch says nothing."""

MAX_CORRELATIONS = 300
"""Pairs of columns whose correlations are compared one by one, at most."""

MIN_OBSERVED = 0.25
"""Share of a column's cells in a batch below which its relations to others are those of the model, not of the batch."""

MIN_SEEN = 0.8
"""Share of the rows of batches in which a column is observed so often, at least, or its mean is not compared."""

MIN_CELLS = 10
"""Cells of a column in a batch below which nothing is said of it alone."""


class BatchStatistics:
    """Statistics of batches, in blocks.

    - *location*: means of expected scores, of each column of numbers beyond all others: by how columns go together
      within batches and between them;
    - *products*: means of squares and products of scores, for panes of dependent rows;
    - *scales*: logarithms of the standard deviations within the batch;
    - *associations*: how well each column follows all others within the batch, log(1 - R^2) / 2; of a category, the
      mean over its columns of the matrix. Only columns that follow the others less count: how closely they do when
      little else happens varies much;
    - *correlations*: Fisher's z of all pairs within the batch, where columns are few;
    - *bins*: shares, arcsine of the root;
    - *columns*: mean and spread of the scores of observed cells, shares of categories: of each column alone;
    - *rates*, *patterns*: shares of missing cells, and of those missing while no other column is: arcsine of the root.

    Parameters
    ----------
    profile : Profile
    axes : tuple of HistogramAxis
    basis : mapping
        What cells are scored by and variances are compared with: `basis_of` the reference.
    """

    def __init__(self, profile: Profile, axes: tuple[HistogramAxis, ...], basis: Sums) -> None:
        self.basis = basis
        self.paired, self.is_number = profile.paired, ~profile.is_category[profile.paired]
        self.owner = profile.owner[profile.paired]
        self.associated, self.first_of_owner, self.n_of_owner = np.unique(
            self.owner, return_index=True, return_counts=True
        )
        first, second = np.triu_indices(len(self.paired), k=1)
        apart = (self.owner[first] != self.owner[second]) & (len(first) <= MAX_CORRELATIONS)
        self.first, self.second = first[apart], second[apart]
        self.axes = axes
        ends = np.cumsum([len(axis) for axis in axes])
        self.cells = [slice(int(end) - len(axis), int(end)) for axis, end in zip(axes, ends, strict=True)]
        self._prepare_columns(basis["cells"])
        self.total_variance = np.maximum(basis["variance"], 1e-6)

    @staticmethod
    def basis_of(profile: Profile, reference: Evidence) -> dict[str, Vector]:
        """Counts of the cells of the reference, and variances of its expected scores."""
        sums, n_rows, paired = reference.sums, reference.n_rows, profile.paired
        squares = np.diag(sums["scatter"] + sums["hidden"]) / n_rows
        none = np.zeros(len(paired))
        variance = squares - (sums["location"][paired] / n_rows) ** 2
        return {"cells": sums["cells"], "variance": variance, "within": np.diag(none), "observed": none}

    def of(self, evidence: Evidence) -> dict[str, Vector]:
        """Statistics of one batch, by the names of their blocks."""
        means, covariance = self._moments(evidence)
        variance = np.maximum(np.diag(covariance), SMALLEST_SHARE * self.total_variance)
        correlation = covariance / np.sqrt(np.outer(variance, variance))
        sums, n_rows = evidence.sums, evidence.n_rows
        unseen = sums["missing"][self.associated] > (1.0 - MIN_OBSERVED) * n_rows
        own = np.add.reduceat(_associations(correlation), self.first_of_owner) / self.n_of_owner
        found = {
            "location": means,
            "products": self._products(means, covariance),
            "scales": 0.5 * np.log(variance[self.is_number]),
            "associations": np.where(unseen, np.nan, own),
            "correlations": np.arctanh(np.clip(correlation[self.first, self.second], -0.98, 0.98)),
            "bins": _arcsine(sums["bins"] / n_rows),
            "columns": self._columns(sums["cells"]),
            "rates": _arcsine(sums["missing"] / n_rows),
            "patterns": _arcsine(_missing_alone(sums["missing_pairs"], sums["missing"]) / n_rows),
            "missing": sums["missing"] / n_rows,
        }
        return {name: np.where(np.isfinite(each), each, np.inf) for name, each in found.items()}

    def learn(self, parts: Iterable[Evidence]) -> tuple[dict[str, Matrix], dict[str, Matrix]]:
        """Statistics of batches, and the basis that they give."""
        found, n_rows = [], 0
        within, observed = np.zeros_like(self.basis["within"]), np.zeros(len(self.paired))
        for part in parts:
            found.append(self.of(part))
            more = self.within(part)
            within, observed, n_rows = within + more["location"], observed + more["observed"], n_rows + part.n_rows
        total = max(n_rows, 1)
        return stacked(found), {**self.basis, "within": within / total, "observed": observed / total}

    def within(self, evidence: Evidence) -> Mapping[str, Matrix]:
        """Sums of products within one batch, and its rows where a column is observed; those of batches add up."""
        observed = evidence.sums["missing"][self.owner] <= (1.0 - MIN_OBSERVED) * evidence.n_rows
        products = self._moments(evidence)[1] * evidence.n_rows
        return {"location": products, "observed": np.where(observed, float(evidence.n_rows), 0.0)}

    def blocks(self, *, as_panes: bool = False) -> tuple[Block, ...]:
        """How the statistics are compared.

        Parameters
        ----------
        as_panes : bool, default False
            Whether batches are panes of dependent rows, which are shorter than windows: spreads and correlations within
            them are smaller than those within a window, so that means of plain products are compared instead.
        """
        turn = self._whitening(self.basis["within"], self.basis["observed"])
        location = Block("location", 0.5, 0.6, 1.0, turn=turn)
        rates = Block("rates", 0.25, 1.0, 0.6, of_values=False)
        missing = Block("missing", 0.05, unseen=0.4, of_values=False)
        if as_panes:
            return location, Block("products", 0.2, 0.5, 0.5), Block("columns", 0.2, unseen=0.0), missing, rates
        of_categories = sum(not axis.edges for axis in self.axes) / max(len(self.axes), 1)
        return (
            location,
            Block("scales", 0.2, 0.0, 0.7),
            Block("associations", 0.1, 0.0, 1.0, rises=True),
            Block("correlations", 0.3, 0.2, 0.3),
            Block("bins", 0.05, 0.05, 0.0),
            Block("columns", 0.2, 0.0, 0.1 + 0.6 * of_categories, unseen=1.0),
            missing,
            rates,
            Block("patterns", 0.25, 0.0, 0.2, of_values=False),
        )

    def column_tests(self, judgement: Judgement) -> tuple[Vector | None, Vector]:
        """p-values of the values of input columns, and of their missing rates: (input columns,) arrays.

        Notes
        -----
        A column's own cells are tested by mean and spread, or by its shares. What it has beyond the others, and how
        well it follows them, is laid to the column with the largest difference only, and where it is surer than that
        any other column differs by itself: a column that moves alone moves what the others have beyond it as well.
        """
        found = np.ones(len(self.axes))
        own = judgement.entries["columns"]
        for place in range(len(self.axes)):
            entries = own[self.column_owner == place]
            if len(entries):
                found[place] = sidak(float(entries.min()), len(entries))
        alone = found.copy()
        for name, owner in (("location", self.owner), ("associations", self.associated)):
            if name in judgement.single:
                single = judgement.single[name]
                surest = int(single.argmin())
                column, p_value = int(owner[surest]), sidak(float(single[surest]), len(single))
                if p_value < np.delete(alone, column).min(initial=1.0):
                    found[column] = min(found[column], p_value)
        return np.maximum(sidak_all(found, 3.0), SMALLEST_P), np.maximum(judgement.entries["missing"], SMALLEST_P)

    def shown(self, residuals: Mapping[str, Vector]) -> list[tuple[int, str, int]]:
        """Input columns, and for each the place in the block "columns" of what differs most."""
        owner = self.column_owner
        places = [np.flatnonzero(owner == column) for column in range(len(self.axes))]
        away = np.abs(residuals["columns"])
        return [(column, "columns", int(own[away[own].argmax()])) for column, own in enumerate(places) if len(own)]

    @cached_property
    def column_owner(self) -> Indices:
        """Input column of each statistic of the block "columns"."""
        sizes = [2 if axis.edges else len(axis) for axis in self.axes]
        return np.repeat(np.arange(len(sizes)), sizes)

    def _products(self, means: Vector, covariance: Matrix) -> Vector:
        """Means of the squares of scores and, where columns are few, of the products of two."""
        plain = covariance + np.outer(means, means)
        return np.concatenate([np.diag(plain)[self.is_number], plain[self.first, self.second]])

    def _moments(self, evidence: Evidence) -> tuple[Vector, Matrix]:
        """Means and covariance of the expected scores of the paired columns."""
        sums, n_rows = evidence.sums, evidence.n_rows
        means = sums["location"][self.paired] / n_rows
        return means, (sums["scatter"] + sums["hidden"]) / n_rows - np.outer(means, means)

    def _whitening(self, covariance: Matrix, observed: Vector) -> Matrix:
        """Map from means to uncorrelated ones of variance 1 within batches: of numbers, or of all where there are none.

        Shares of categories are compared one by one: there are many of them, and batches are few. Columns that few
        batches have are left out: their expected scores are those of the model.
        """
        usable = observed >= MIN_SEEN
        chosen = np.flatnonzero(usable & self.is_number if (usable & self.is_number).any() else usable)
        own = covariance[np.ix_(chosen, chosen)]
        deviation = np.sqrt(np.maximum(np.diag(own), 1e-8))
        values, vectors = np.linalg.eigh(own / np.outer(deviation, deviation))
        turn = np.zeros((len(chosen), len(self.paired)))
        turn[:, chosen] = (vectors / np.sqrt(np.maximum(values, 0.0) + RIDGE)).T / deviation
        return turn

    def _prepare_columns(self, counts: Vector) -> None:
        """Prepare the scores of the cells of all columns of numbers, one after the other."""
        self.numbers = [place for place, axis in enumerate(self.axes) if axis.edges]
        own = [np.arange(self.cells[place].start, self.cells[place].stop) for place in self.numbers]
        self.number_cells = np.concatenate([*own, np.zeros(0, dtype=np.intp)]).astype(np.intp)
        self.number_starts = np.cumsum([0, *map(len, own)])[:-1].astype(np.intp)
        self.number_scores = np.concatenate([*(_scores(counts[cells]) for cells in own), np.zeros(0)])

    def _columns(self, cells: Vector) -> Vector:
        """Mean and spread of the scores of each column of numbers, shares of categories; NaN where nothing is seen."""
        found = np.full(len(self.column_owner), np.nan)
        first = np.searchsorted(self.column_owner, np.arange(len(self.axes)))
        if self.numbers:
            counts, scores = cells[self.number_cells], self.number_scores
            powers = (counts, counts * scores, counts * scores**2)
            number, total, squares = (np.add.reduceat(power, self.number_starts) for power in powers)
            with np.errstate(divide="ignore", invalid="ignore"):
                mean = np.where(number >= MIN_CELLS, total / number, np.nan)
                spread = np.maximum(squares / number - mean**2, SMALLEST_SHARE)
            found[first[self.numbers]], found[first[self.numbers] + 1] = mean, 0.5 * np.log(spread)
        for place, axis in enumerate(self.axes):
            counts = cells[self.cells[place]]
            if axis.labels and counts.sum() >= MIN_CELLS:
                found[first[place] : first[place] + len(counts)] = _arcsine(counts / counts.sum())
        return found


def _scores(counts: Vector) -> Vector:
    """Normal scores of the cells of a histogram, by the middle of their ranks."""
    total = max(float(counts.sum()), 1.0)
    middle = (np.cumsum(counts) - 0.5 * counts) / total
    found: Vector = ndtri(np.clip(middle, 0.25 / total, 1.0 - 0.25 / total))
    return found


def _arcsine(shares: Vector) -> Vector:
    """Arcsine of the root of shares, whose variance does not depend on them."""
    found: Vector = np.arcsin(np.sqrt(np.clip(shares, 0.0, 1.0)))
    return found


def _missing_alone(pairs: Matrix, missing: Vector) -> Vector:
    """Rows in which a column is missing less those in which the column that it shares most with is missing too."""
    if len(pairs) != len(missing) or len(missing) < 2:
        return np.zeros(len(missing))
    shared = pairs - np.diag(np.diag(pairs))
    found: Vector = np.maximum(missing - shared.max(axis=1), 0.0)
    return found


def _associations(correlation: Matrix) -> Vector:
    """log(1 - R^2) / 2 of each column on all others, with a ridge."""
    if not len(correlation):
        return np.zeros(0)
    ridged = correlation + ASSOCIATION_RIDGE * np.eye(len(correlation))
    inverse = np.diag(np.linalg.inv(ridged))
    if inverse.min() <= 0.0:
        # What missing cells hide may make it indefinite.
        values, vectors = np.linalg.eigh(correlation)
        values = np.maximum(values, 0.0) + ASSOCIATION_RIDGE
        ridged, inverse = (vectors * values) @ vectors.T, (vectors**2) @ (1.0 / values)
    found: Vector = -0.5 * np.log(np.maximum(inverse * np.diag(ridged), 1.0))
    return found
