"""Rows filled with expected scores, by patterns of missing cells, and what these patterns hide.

Two fillers differ in how the inverse of the model's covariance is held: as a matrix (`DenseFiller`), whose conditional
covariances are kept by pattern, or as a few factors (`FactorFiller`) for tables of many columns.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapdrift._typing import Indices, Mask, Matrix, Vector
from gapdrift.counting.bins import BinTable
from gapdrift.counting.patterns import MAX_CODED, KnownPatterns, PatternBlock, PatternCache, unknown_parts
from gapdrift.counting.profile import Profile
from gapdrift.models.gaussian import DensePrecision, FactorPrecision, Patterns, fill, find_patterns
from gapdrift.models.gaussian.factor import conditional_factors
from gapdrift.models.gaussian.patterns import multiply_in_order
from gapdrift.models.normal_scores import UNIT

__all__ = ["EXTRA_STEPS", "DenseFiller", "FactorFiller", "FilledRows", "Filler", "make_filler"]

Codes = NDArray[np.uint64]
MissingOf = Callable[[Any], Mask]

HIDDEN_CELLS = 500_000
"""Cells of the conditional covariances of factor models that are handled at once."""


MANY = 32
"""Completions above which their residuals are found by one matrix product for each row."""

EXACT = 2.0**24
"""Steps per unit of what patterns hide: sums of millions of rows fit into the 53 bits of a double."""


EXTRA_STEPS = 2.0**16
"""Steps per unit of what is hidden of squared products, likewise."""


def _exact(matrices: Matrix) -> Matrix:
    """Entries rounded so that their sums over patterns are exact, in whatever order patterns were met."""
    return np.rint(matrices * EXACT) * (1.0 / EXACT)


def missing_sums(missing: Mask, counts: Vector, paired: Indices) -> dict[str, Matrix]:
    """Sums of the statistics of missingness over patterns.

    Parameters
    ----------
    missing : (patterns, input columns) array of bool
    counts : (patterns,) array
        Rows of each pattern.
    paired : (n_missing_paired,) array of int
    """
    plain = missing.astype(float)
    number = plain.sum(axis=1)
    few = plain[:, paired]
    return {
        "missing": counts @ plain,
        "missing_pairs": (few * counts[:, None]).T @ few,
        "n_missing": np.array([counts @ number**2, counts @ number**4]),
    }


@dataclass(frozen=True, eq=False)
class _DenseRows:
    """Rows filled by known patterns; ``rows`` says which ones of a chunk they are."""

    filler: "DenseFiller"
    rows: Any
    expected: Matrix
    known: KnownPatterns
    index: Indices

    def incomplete(self) -> Indices:
        """Rows with missing cells."""
        return np.flatnonzero(self.index)

    def observed_entropy(self) -> Vector:
        """Collision entropy of the observed values of each row, in bits: (rows,)."""
        return ((~self.known.missing) @ self.filler.profile.entropy)[self.index]

    def hidden(self) -> Matrix:
        """Hidden part of the products of each row: (rows, n_paired, n_paired)."""
        used, place = np.unique(self.index, return_inverse=True)
        paired = self.filler.profile.paired
        return self.filler.hidden_of(self.known, used)[:, paired[:, None], paired][place]

    def residual_steps(self, table: BinTable, donors: Matrix, choice: Indices) -> NDArray[np.float32]:
        """Residuals of the chosen donors in each row's missing cells, in whole steps: (rows * choices, columns)."""
        n_spread, size = choice.shape[1], self.expected.shape[1]
        steps = np.zeros((len(self.index) * n_spread, size), dtype=np.float32)
        for block in self.blocks:
            if n_spread > MANY:
                self._average(block, table, donors, choice, steps)
                continue
            for number in range(n_spread):
                vectors = donors[choice[block.rows, number][:, None], block.columns]
                solved = multiply_in_order(block.covariance, vectors)
                steps[(block.rows * n_spread + number)[:, None], block.columns] = table.steps(solved)
        return steps

    @staticmethod
    def _average(
        block: PatternBlock, table: BinTable, donors: Matrix, choice: Indices, steps: NDArray[np.float32]
    ) -> None:
        """Residual steps of many donors, row by row: by matrix products, which machine code never has to equal."""
        n_spread = choice.shape[1]
        for row, columns, covariance in zip(block.rows, block.columns, block.covariance, strict=True):
            solved = donors[choice[row][:, None], columns] @ covariance
            steps[row * n_spread : (row + 1) * n_spread, columns] = table.steps(solved)

    def take(self, places: Indices) -> "_DenseRows":
        """Some of these rows."""
        return _DenseRows(self.filler, self.rows, self.expected[places], self.known, self.index[places])

    @cached_property
    def blocks(self) -> list[PatternBlock]:
        return self.known.blocks(self.index)

    def pattern_numbers(self) -> Indices:
        """Equal numbers for rows with equal patterns: (rows,)."""
        return self.index


@dataclass(eq=False)
class _DenseTotals:
    """Rows of each pattern, and sums over those whose patterns are not kept."""

    filler: "DenseFiller"
    counts: Vector = field(default_factory=lambda: np.zeros(1))
    extra: Matrix = field(init=False)
    others: list[dict[str, Matrix]] = field(default_factory=list)

    def __post_init__(self) -> None:
        size = len(self.filler.profile.owner)
        self.extra = np.zeros((size, size))

    def add(self, known: KnownPatterns, index: Indices, *, kept: bool) -> None:
        """Count rows by pattern; patterns that are not kept are summed up at once."""
        counts = np.bincount(index).astype(float)
        if kept:
            self.add_counts(counts)
        else:
            self.others = [_added([*self.others, self.filler.pattern_sums(known, counts)])]

    def add_counts(self, counts: Vector) -> None:
        """Add rows of each of the first patterns that are kept."""
        total = np.zeros(max(len(self.counts), len(counts)))
        total[: len(self.counts)] += self.counts
        total[: len(counts)] += counts
        self.counts = total

    def sums(self) -> dict[str, Matrix]:
        kept = self.filler.pattern_sums(self.filler.kept_patterns(), self.counts)
        found, paired = _added([kept, *self.others]), self.filler.profile.paired
        among = np.ix_(paired, paired)
        covariance = found.pop("covariance")
        hidden = self.filler.hidden_sum(covariance, found.pop("squared"))
        extra = self.extra + np.triu(self.extra, k=1).T
        return found | {"hidden": hidden, "conditional": covariance[among], "extra_squares": extra[among]}


def _added(parts: list[dict[str, Matrix]]) -> dict[str, Matrix]:
    return {name: np.sum([part[name] for part in parts], axis=0) for name in parts[0]}


class DenseFiller:
    """Fills rows by a precision matrix, with conditional covariances kept by pattern.

    Parameters
    ----------
    profile : Profile
    """

    def __init__(self, profile: Profile) -> None:
        assert isinstance(profile.precision, DensePrecision)
        assert profile.moments is not None
        self.profile, self.precision = profile, profile.precision
        matrix = profile.precision.matrix
        self._crossed = profile.moments @ matrix
        self._inner = matrix @ profile.moments @ matrix
        self._cache = PatternCache(profile.precision, profile.owner, len(profile.entropy))

    def totals(self) -> _DenseTotals:
        """Totals of no rows."""
        return _DenseTotals(self)

    def kept_patterns(self) -> KnownPatterns:
        """All patterns that are kept so far; their numbers never change."""
        return self._cache.known

    def fill(self, scores: Matrix, codes: Codes, missing: MissingOf, totals: _DenseTotals) -> Iterator[_DenseRows]:
        """Fill some rows, and add what their patterns hide to the totals.

        Parameters
        ----------
        scores : (rows, columns) array
            Centred scores, 0 where missing. May be overwritten.
        codes : (rows,) array of uint64
            From `pattern_codes`.
        missing : callable
            Missing input columns of some rows.
        totals : _DenseTotals
        """
        if len(self.profile.entropy) > MAX_CODED:
            rest = np.arange(len(scores))
        else:
            known, index = self._cache.find(codes)
            rest = np.flatnonzero(index < 0)
            here: Any = np.flatnonzero(index >= 0) if len(rest) else slice(None)
            totals.add(known, index[here], kept=True)
            yield self._fill_known(scores[here], known, index[here], here, totals)
        if len(rest):
            for rows, described, index in unknown_parts(missing(rest), self.profile.owner, self.precision):
                totals.add(described, index, kept=False)
                yield self._fill_known(scores[rest[rows]], described, index, rest[rows], totals)

    def _fill_known(
        self, scores: Matrix, known: KnownPatterns, index: Indices, rows: Any, totals: _DenseTotals
    ) -> _DenseRows:
        filled = _DenseRows(self, rows, scores, known, index)
        multiplied = self.precision.multiply(scores)
        for block in filled.blocks:
            expected = np.rint(-block.solve(multiplied) * (1.0 / UNIT)) * UNIT
            scores[block.rows[:, None], block.columns] = expected
            first, second = np.triu_indices(block.columns.shape[1])
            covariance = block.covariance[:, first, second]
            extra = covariance * (2.0 * (expected[:, first] * expected[:, second]) + covariance)
            rounded = np.rint(extra * EXTRA_STEPS) * (1.0 / EXTRA_STEPS)
            cells = block.columns[:, first] * len(totals.extra) + block.columns[:, second]
            totals.extra += np.bincount(cells.ravel(), rounded.ravel(), totals.extra.size).reshape(totals.extra.shape)
        return filled

    def pattern_sums(self, known: KnownPatterns, counts: Vector) -> dict[str, Matrix]:
        """Conditional covariances S, S P G P S and missingness, summed over so many rows of each pattern."""
        used = np.flatnonzero(counts)
        covariance, squared = np.zeros(self._inner.shape), np.zeros(self._inner.shape)
        for block in known.blocks(used):
            weight = counts[used[block.rows]][:, None, None]
            inner = self._inner[block.columns[:, :, None], block.columns[:, None, :]]
            square = block.covariance @ inner @ block.covariance
            _add_cells(covariance, block, _exact(block.covariance) * weight)
            _add_cells(squared, block, _exact(square) * weight)
        missing = missing_sums(known.missing[used], counts[used], self.profile.missing_paired)
        return {"covariance": covariance, "squared": squared} | missing

    def hidden_sum(self, covariance: Matrix, squared: Matrix) -> Matrix:
        """Hidden products of the paired columns, out of the sums of `pattern_sums`."""
        crossed = self._crossed @ covariance
        paired = self.profile.paired
        return (crossed + crossed.T - squared)[np.ix_(paired, paired)]

    def hidden_of(self, known: KnownPatterns, numbers: Indices) -> Matrix:
        """Hidden products of single rows of each pattern: (numbers, columns, columns).

        Notes
        -----
        With G the second moments of the completed reference and S the conditional covariance, 0 where observed,
        products of expected scores lack G P S + S P G - S P G P S on average over the reference.
        """
        size = len(self._inner)
        hidden = np.zeros((len(numbers), size, size))
        for block in known.blocks(numbers):
            whole = np.zeros((len(block.rows), size, size))
            place = np.arange(len(block.rows))[:, None, None]
            whole[place, block.columns[:, :, None], block.columns[:, None, :]] = block.covariance
            crossed = self._crossed @ whole
            hidden[block.rows] = crossed + crossed.transpose(0, 2, 1) - whole @ self._inner @ whole
        return hidden


def _add_cells(total: Matrix, block: PatternBlock, matrices: Matrix) -> None:
    """Add the matrices of the missing cells of each row of a block to one of all columns."""
    size = len(total)
    cells = block.columns[:, :, None] * size + block.columns[:, None, :]
    total += np.bincount(cells.ravel(), matrices.ravel(), size * size).reshape(size, size)


@dataclass(frozen=True, eq=False)
class _FactorRows:
    """Rows filled by a model of few factors."""

    filler: "FactorFiller"
    rows: Any
    expected: Matrix
    missing: Mask
    patterns: Patterns

    def incomplete(self) -> Indices:
        return np.flatnonzero(self.patterns.index)

    def observed_entropy(self) -> Vector:
        return ~self.missing @ self.filler.profile.entropy

    def hidden(self) -> Matrix:
        return self.filler.conditional_covariance(self.missing)

    def residual_steps(self, table: BinTable, donors: Matrix, choice: Indices) -> NDArray[np.float32]:
        repeated = self.patterns.take(np.repeat(np.arange(len(choice)), choice.shape[1]))
        return table.steps(self.filler.precision.solve(repeated, donors[choice.ravel()]))

    def take(self, places: Indices) -> "_FactorRows":
        patterns = self.patterns.take(places)
        return _FactorRows(self.filler, self.rows, self.expected[places], self.missing[places], patterns)

    def pattern_numbers(self) -> Indices:
        return self.patterns.index


@dataclass(eq=False)
class _FactorTotals:
    """Sums over rows of any patterns."""

    parts: dict[str, Matrix]

    def sums(self) -> dict[str, Matrix]:
        return self.parts


class FactorFiller:
    """Fills rows by a model of few factors; products lack what the model itself expects.

    Parameters
    ----------
    profile : Profile
    """

    def __init__(self, profile: Profile) -> None:
        assert isinstance(profile.precision, FactorPrecision)
        self.profile, self.precision = profile, profile.precision

    @cached_property
    def _step(self) -> int:
        return max(1, HIDDEN_CELLS // max(len(self.profile.paired), 1) ** 2)

    def totals(self) -> _FactorTotals:
        """Totals of no rows."""
        size = len(self.profile.paired)
        none = np.zeros((1, len(self.profile.entropy)), dtype=bool)
        return _FactorTotals(
            {name: np.zeros((size, size)) for name in ("hidden", "conditional", "extra_squares")}
            | missing_sums(none, np.zeros(1), self.profile.missing_paired)
        )

    def fill(self, scores: Matrix, codes: Codes, missing: MissingOf, totals: _FactorTotals) -> Iterator[_FactorRows]:
        """Fill some rows, and add what their patterns hide to the totals: as `DenseFiller.fill`."""
        del codes
        inputs = missing(slice(None))
        patterns = find_patterns(inputs[:, self.profile.owner])
        expected = np.rint(fill(self.precision, patterns, scores) * (1.0 / UNIT)) * UNIT
        self._add(totals, inputs, patterns.index, expected[:, self.profile.paired])
        yield _FactorRows(self, slice(None), expected, inputs, patterns)

    def _add(self, totals: _FactorTotals, missing: Mask, index: Indices, expected: Matrix) -> None:
        parts = totals.parts
        for name, array in missing_sums(missing, np.ones(len(missing)), self.profile.missing_paired).items():
            parts[name] = parts[name] + array
        order = np.argsort(index, kind="stable")[np.count_nonzero(index == 0) :]
        for start in range(0, len(order), self._step):
            rows = order[start : start + self._step]
            numbers, first, counts = np.unique(index[rows], return_index=True, return_counts=True)
            covariance = self.conditional_covariance(missing[rows[first]])
            products = expected[rows][:, :, None] * expected[rows][:, None, :]
            if len(numbers) < len(rows):
                belongs = (numbers[:, None] == index[rows]).astype(float)
                products = (belongs @ products.reshape(len(rows), -1)).reshape(covariance.shape)
            products *= 2.0
            products += covariance if len(numbers) == len(rows) else covariance * counts[:, None, None]
            products *= covariance
            parts["conditional"] = parts["conditional"] + np.tensordot(counts.astype(float), covariance, 1)
            parts["hidden"] = parts["conditional"]
            parts["extra_squares"] = parts["extra_squares"] + products.sum(axis=0)

    def conditional_covariance(self, missing: Mask) -> Matrix:
        """Conditional covariance of the paired columns of each row, 0 where observed: (rows, n_paired, n_paired)."""
        wide = missing[:, self.profile.owner]
        paired = self.profile.paired
        factors = conditional_factors(self.precision.model, wide)
        loadings = np.where(wide[:, paired, None], self.precision.loadings[paired], 0.0)
        covariance = loadings @ factors @ loadings.transpose(0, 2, 1)
        place = np.arange(len(paired))
        covariance[:, place, place] += np.where(wide[:, paired], self.precision.noise[paired], 0.0)
        return covariance


FilledRows = _DenseRows | _FactorRows
"""Rows with expected scores in their missing cells."""

Filler = DenseFiller | FactorFiller
"""Fills rows with expected scores; collects what their patterns of missing cells hide in ``totals``."""


def make_filler(profile: Profile) -> Filler:
    """Filler of a profile, by how it holds the inverse of the model's covariance."""
    return DenseFiller(profile) if isinstance(profile.precision, DensePrecision) else FactorFiller(profile)
