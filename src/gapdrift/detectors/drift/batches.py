"""What DriftDetector compares of a batch: one entry for each thing that a person would watch.

Of a column of numbers: the mean and the spread of its scores. Of a category: the shares of its values. Of both: the
share of cells beyond all that other batches reached, the share of missing ones, and how well the column follows all
others. Of two columns: their correlation. All are functions of the sums of one batch.
"""

import zlib
from collections.abc import Iterable, Mapping
from typing import TypeVar

import numpy as np

from gapdrift._typing import Indices, Mask, Matrix, Vector
from gapdrift.counting.evidence import Evidence
from gapdrift.counting.functions import CATEGORY_STEPS, STEPS, Functions
from gapdrift.counting.sums import Side
from gapdrift.inference.batch_models import Block
from gapdrift.inference.batches import Judgement, stacked
from gapdrift.inference.combination import sidak, sidak_all
from gapdrift.inference.pearson import SMALLEST_P

__all__ = ["BatchStatistics"]

Basis = Mapping[str, Matrix]

AnyArray = TypeVar("AnyArray", Vector, Matrix)

MIN_CELLS = 5.0
"""Observed cells in a batch, of a column or of two together, below which nothing is said of them."""

MIN_OBSERVED = 0.25
"""Share of a column's cells in a batch below which nothing is said of how it goes together with others."""

MIN_SEEN = 0.8
"""Share of batches with so many cells of a column, at least, or what it has beyond the others is not compared."""

MAX_PAIRS = 300
"""Pairs of columns whose correlations are compared, at most: those that correlate most in the reference."""

STUCK = 1e-3
"""Standard deviation that is added to that of a batch, so that a stuck sensor has a logarithm."""

SMALLEST_SHARE = 0.02
"""Share of a column's variance over all rows below which its variance within a batch says nothing."""

RIDGE = 0.02
"""Smallest variance within batches of a combination of columns that is told apart, over that of one column."""

ASSOCIATION_RIDGE = 0.3
"""The same for how well columns follow the others within one batch: it has few rows."""

UNSEEN, UNSEEN_SHARE, UNSEEN_MISSING = 1.0, 0.4, 0.3
"""What one batch more may be off by: in deviations of rows and logarithms; in shares of values; of missing cells."""

N_SLOTS = 1_024
"""Digests that tell values of a category without a matrix column of their own apart."""


class BatchStatistics:
    """Statistics of batches, in blocks.

    - *location*: means of scores; of columns of numbers also beyond all others, by how columns go together within
      batches and between them;
    - *scales*: logarithms of the standard deviations within the batch;
    - *outside*: shares of observed cells with codes that at most one batch reached;
    - *associations*: how well each column follows all others within the batch, log(1 - R^2) / 2. Only columns that
      follow the others less count: how closely they do when little else happens varies much;
    - *correlations*: Fisher's z of pairs within the batch;
    - *missing*: shares of missing cells; *rates*: the arcsine of their root;
    - *products*: means of squares and products of scores, for panes of dependent rows.

    Parameters
    ----------
    functions : Functions
    basis : mapping of str to array
        What statistics are compared with: `basis_of` the reference, or what `learn` found.
    """

    def __init__(self, functions: Functions, basis: Basis) -> None:
        self.functions, self.basis = functions, basis
        self.columns = functions.columns
        self.is_number = np.isin(np.arange(len(self.columns)), functions.numbers)
        self.owner = functions.owner[self.columns]
        self.associated, self.first_of_owner, self.n_of_owner = np.unique(
            self.owner, return_index=True, return_counts=True
        )
        self.steps = np.where(self.is_number, STEPS, CATEGORY_STEPS)
        grouped = np.flatnonzero(~functions.is_number)
        self.slots = {int(place): int(functions.starts[-1] + N_SLOTS * row) for row, place in enumerate(grouped)}
        sizes = np.diff(functions.starts)
        slots = len(sizes) + np.repeat(grouped, N_SLOTS)
        self.code_owner = np.concatenate([np.repeat(np.arange(len(sizes)), sizes), slots])
        self.first, self.second = self._pairs(np.abs(basis["correlation"]))

    @staticmethod
    def basis_of(functions: Functions, reference: Evidence) -> dict[str, Matrix]:
        """What of the reference batches are compared with, before they are known."""
        side, size = Side(functions, reference), len(functions.columns)
        covariance = side.covariance[:size, :size]
        spread = np.sqrt(np.maximum(np.diag(covariance), 1.0))
        steps = np.where(np.isin(np.arange(size), functions.numbers), STEPS, CATEGORY_STEPS)
        n_codes = functions.starts[-1] + N_SLOTS * int((~functions.is_number).sum())
        return {
            "correlation": covariance / np.outer(spread, spread),
            "within": covariance / np.outer(steps, steps),
            "beyond": np.zeros(n_codes),
        }

    def learn(self, parts: Iterable[Evidence]) -> tuple[dict[str, Matrix], dict[str, Matrix]]:
        """Statistics of batches that come one by one, and the basis that they give."""
        size, n_codes = len(self.columns), len(self.code_owner)
        n_reached, counts, batch_of = np.zeros(n_codes), np.zeros(n_codes), np.zeros(n_codes, dtype=np.intp)
        products, weights, n_seen = np.zeros((size, size)), np.zeros((size, size)), np.zeros(size)
        found, n_observed = [], []
        for batch, part in enumerate(parts):
            found.append(self.of(part))
            n_observed.append(part.n_rows - Side(self.functions, part).missing)
            cells = self._cells(part)
            reached = self._reached(cells)
            n_reached += reached
            batch_of[reached], counts[reached] = batch, cells[reached]
            rows = Side(self.functions, part).rows[:size, :size]
            products, weights = products + rows * self._covariance(part), weights + rows
            n_seen += np.diag(rows) >= MIN_OBSERVED * part.n_rows
        # The cells of codes that one batch alone reached are outside of all that others did.
        alone, n_columns = n_reached == 1, len(self.functions.axes)
        outside = np.zeros((len(found), 2 * n_columns))
        np.add.at(outside, (batch_of[alone], self.code_owner[alone]), counts[alone])
        outside = outside.reshape(-1, 2, n_columns).max(axis=1)
        blocks = stacked(found) | {"outside": _share(outside, np.array(n_observed).reshape(outside.shape))}
        usable = n_seen >= MIN_SEEN * len(found)
        within = products / np.maximum(weights, 1.0) * np.outer(usable, usable)
        return blocks, {**self.basis, "within": within, "beyond": (n_reached <= 1).astype(float)}

    def of(self, evidence: Evidence) -> dict[str, Vector]:
        """Statistics of one batch, by the names of their blocks; infinite where it says too little."""
        side, size = Side(self.functions, evidence), len(self.columns)
        covariance, rows = self._covariance(evidence), side.rows[:size, :size]
        own, variance = np.diag(rows), np.diag(covariance)
        total = np.maximum(np.diag(self.basis["within"]), 1e-6)
        spread = np.sqrt(np.maximum(variance, SMALLEST_SHARE * total))
        correlation = np.where(rows >= MIN_CELLS, np.clip(covariance / np.outer(spread, spread), -1.0, 1.0), 0.0)
        z = np.arctanh(np.clip(correlation[self.first, self.second], -0.98, 0.98))
        means, seen = side.means[:size] / self.steps, own >= MIN_CELLS
        follows = np.add.reduceat(_associations(correlation), self.first_of_owner) / self.n_of_owner
        enough = own[self.first_of_owner] >= max(MIN_OBSERVED * evidence.n_rows, MIN_CELLS)
        beyond = np.bincount(self.code_owner, self._cells(evidence) * self.basis["beyond"], 2 * len(side.missing))
        products = covariance + np.outer(means, means)
        return {
            "location": _where(seen, means),
            "scales": _where(seen, np.log(np.sqrt(np.maximum(variance, 0.0)) + STUCK))[self.is_number],
            "outside": _share(beyond.reshape(2, -1).max(axis=0), evidence.n_rows - side.missing),
            "associations": _where(enough, follows),
            "correlations": _where(rows[self.first, self.second] >= MIN_CELLS, z),
            "products": np.append(np.diag(products)[self.is_number], products[self.first, self.second]),
            "missing": side.missing / evidence.n_rows,
            "rates": np.arcsin(np.sqrt(side.missing / evidence.n_rows)),
        }

    def blocks(self, *, as_panes: bool = False) -> tuple[Block, ...]:
        """How the statistics are compared.

        Parameters
        ----------
        as_panes : bool, default False
            Whether batches are panes of dependent rows, which are shorter than windows: spreads and correlations within
            them are smaller than those within a window, so that means of plain products are compared instead.
        """
        turn = self._whitening()
        rates = Block("rates", 0.25, together=1.0, of_values=False)
        unseen = np.where(self.is_number, UNSEEN, UNSEEN_SHARE)
        if as_panes:
            return (
                Block("location", 0.5, 0.6, 1.0, unseen=0.0, turn=turn),
                Block("products", 0.2, 0.5, 0.5),
                Block("missing", 0.05, unseen=0.0, of_values=False),
                rates,
            )
        return (
            Block("location", 0.5, 0.5, 0.5, unseen=unseen, turn=turn),
            Block("scales", 0.2, largest=0.25, unseen=UNSEEN),
            Block("outside", 0.05, unseen=UNSEEN_SHARE),
            Block("associations", 0.1, largest=0.5, rises=True),
            Block("correlations", 0.3, largest=0.25, unseen=UNSEEN),
            Block("missing", 0.05, unseen=UNSEEN_MISSING, of_values=False),
            rates,
        )

    def column_tests(self, judgement: Judgement) -> tuple[Vector, Vector]:
        """p-values of the values of input columns, and of their missing rates: (input columns,) arrays.

        Notes
        -----
        A column's own cells are tested by its entries. What it has beyond the others, and how well it follows them, are
        laid to the column of the largest difference only, and where it is surer than any other column by itself: a
        column that moves alone moves what the others have beyond it as well.
        """
        least, number = np.ones(len(self.functions.axes)), np.ones(len(self.functions.axes))
        for name, owner in self._own.items():
            if name in judgement.entries:
                np.minimum.at(least, owner, judgement.entries[name])
                np.add.at(number, owner, 1.0)
        alone = sidak_all(least, number)
        found = alone.copy()
        for name, owner in (("location", self.owner), ("associations", self.associated)):
            single = judgement.single.get(name, np.zeros(0))
            if len(single):
                column, p_value = int(owner[single.argmin()]), sidak(float(single.min()), len(single))
                if p_value < np.delete(alone, column).min(initial=1.0):
                    found[column] = min(found[column], p_value)
        return np.maximum(sidak_all(found, 3.0), SMALLEST_P), np.maximum(judgement.entries["missing"], SMALLEST_P)

    def shown(self, residuals: Mapping[str, Vector]) -> list[tuple[int, str, int]]:
        """Input columns, and for each the block and the place in it of the entry that differs most."""
        found: dict[int, tuple[float, str, int]] = {}
        for name, owner in self._own.items():
            for place, away in enumerate(np.abs(residuals.get(name, np.zeros(0))).tolist()):
                found[int(owner[place])] = max(found.get(int(owner[place]), (-1.0, "", 0)), (away, name, place))
        return [(column, name, place) for column, (_, name, place) in sorted(found.items())]

    @property
    def _own(self) -> dict[str, Indices]:
        """Input column of each entry that is about one column's values."""
        every = np.arange(len(self.functions.axes))
        return {"location": self.owner, "scales": self.owner[self.is_number], "outside": every}

    def _pairs(self, strength: Matrix) -> tuple[Indices, Indices]:
        """Pairs of columns that correlate most."""
        first, second = np.triu_indices(len(strength), 1)
        apart = self.owner[first] != self.owner[second]
        first, second = first[apart], second[apart]
        chosen = np.sort(np.argsort(-strength[first, second], kind="stable")[:MAX_PAIRS])
        return first[chosen], second[chosen]

    def _covariance(self, evidence: Evidence) -> Matrix:
        """Covariance of the scores within one batch, in standard deviations and shares."""
        size = len(self.columns)
        covariance = Side(self.functions, evidence).covariance[:size, :size]
        return np.asarray(covariance / np.outer(self.steps, self.steps))

    def _cells(self, evidence: Evidence) -> Vector:
        """How often each code of observed cells occurs, and each digest of values without a matrix column."""
        functions, found = self.functions, np.zeros(len(self.code_owner))
        found[: functions.starts[-1]] = evidence.sums["cells"]
        found[functions.starts[1:] - 1] = 0.0
        tallies = evidence.facts.tallies if evidence.facts else ({},) * len(functions.axes)
        for place, start in self.slots.items():
            for value, count in tallies[place].items():
                found[start + zlib.crc32(value.encode(errors="surrogatepass")) % N_SLOTS] += count
        return found

    def _reached(self, cells: Vector) -> Mask:
        """Codes that a batch with these cells reaches: those between its ends, of numbers."""
        found, starts = cells > 0.0, self.functions.starts
        for place in np.flatnonzero(self.functions.is_number):
            own = found[starts[place] : starts[place + 1] - 1]
            own[:] = np.maximum.accumulate(own) & np.maximum.accumulate(own[::-1])[::-1]
        return found

    def _whitening(self) -> Matrix:
        """Map from means to uncorrelated ones of variance 1 within batches: of numbers, or of all where there are none.

        Shares of categories are compared one by one: there are many of them, and batches are few.
        """
        within = self.basis["within"]
        usable = np.diag(within) > 0.0
        chosen = np.flatnonzero(usable & self.is_number if (usable & self.is_number).any() else usable)
        own = within[np.ix_(chosen, chosen)]
        deviation = np.sqrt(np.maximum(np.diag(own), 1e-8))
        values, vectors = np.linalg.eigh(own / np.outer(deviation, deviation))
        turn = np.zeros((len(chosen), len(self.columns)))
        turn[:, chosen] = (vectors / np.sqrt(np.maximum(values, 0.0) + RIDGE)).T / deviation
        return turn


def _where(known: Mask, values: AnyArray) -> AnyArray:
    return np.where(known, values, np.inf)


def _share(counts: AnyArray, n_observed: AnyArray) -> AnyArray:
    """Share of observed cells; infinite where there are few."""
    return _where(n_observed >= MIN_CELLS, np.minimum(counts / np.maximum(n_observed, 1.0), 1.0))


def _associations(correlation: Matrix) -> Vector:
    """log(1 - R^2) / 2 of each column on all others, with a ridge; what pairs of rows make negative counts as 0."""
    values, vectors = np.linalg.eigh(correlation)
    values = np.maximum(values, 0.0) + ASSOCIATION_RIDGE
    own, inverse = (vectors**2) @ values, (vectors**2) @ (1.0 / values)
    found: Vector = -0.5 * np.log(np.maximum(inverse * own, 1.0))
    return found
