"""Bins of rows that have too little observed to choose donors by: each is spread over very many completions."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from gapdrift._typing import Indices, Matrix, Vector
from gapdrift.counting.bins import BinTable, Single, choose_donors, nearest
from gapdrift.counting.filling import FilledRows
from gapdrift.counting.profile import N_AVERAGED

__all__ = ["AveragedBins"]

MAX_ROWS = 16_384
"""Different rows whose memberships are kept."""

MAX_CELLS = 2**24
"""Cells of the residuals' products with centres that are kept: 64 MB."""


class AveragedBins:
    """Memberships of such rows.

    Few of them are different, and fewer have different patterns: what was found for both is kept.

    Parameters
    ----------
    table : BinTable
    donors : (donors, columns) array
    coded : bool
        Whether codes tell patterns apart, by which memberships are kept.
    """

    def __init__(self, table: BinTable, donors: Matrix, *, coded: bool) -> None:
        self.table, self.donors, self.coded = table, donors, coded
        self._shares: dict[tuple[int, int], Vector] = {}
        self._moves: dict[int, Single] = {}

    def find(
        self, filled: FilledRows, identity: NDArray[np.uint64], codes: NDArray[np.uint64]
    ) -> tuple[Matrix, Indices]:
        """Memberships of the different ones among some rows, and the index of each row in them.

        Parameters
        ----------
        filled : FilledRows
            All incomplete.
        identity, codes : (rows,) arrays
            What their observed values and their patterns are known by.
        """
        both = np.rec.fromarrays([identity, filled.pattern_numbers()])
        _, first, place = np.unique(both, return_index=True, return_inverse=True)
        keys = list(zip(identity[first].tolist(), codes[first].tolist(), strict=True))
        new = [number for number, key in enumerate(keys) if not self.coded or key not in self._shares]
        shares = np.empty((len(keys), self.table.n_bins))
        if new:
            chosen = first[new]
            shares[new] = self._average(filled.take(chosen), identity[chosen], codes[chosen])
        for number in set(range(len(keys))).difference(new):
            shares[number] = self._shares[keys[number]]
        for number in new[: max(MAX_ROWS - len(self._shares), 0)] if self.coded else ():
            self._shares[keys[number]] = shares[number]
        return shares, place.reshape(-1)

    def _average(self, filled: FilledRows, identity: NDArray[np.uint64], codes: NDArray[np.uint64]) -> Matrix:
        """Shares of the completions of each row in each bin: (rows, bins)."""
        table = self.table
        base = table.distances(table.steps(filled.expected))
        choice = choose_donors(identity, len(self.donors), N_AVERAGED)
        shares = np.empty((len(choice), table.n_bins))
        numbers = filled.pattern_numbers()
        order = np.argsort(numbers, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1):
            one, code = filled.take(rows[:1]), int(codes[rows[0]])
            if len(rows) == 1 and not self._keeps(code):
                chosen: Iterable[Single] = [self._solve(one, choice[rows])]
            else:
                moves = self._moves_of(one, code)
                chosen = (moves[:, choice[row]] for row in rows)
            for row, moved in zip(rows.tolist(), chosen, strict=True):
                places = nearest(base[:, row, None] + moved)
                shares[row] = np.bincount(places, minlength=table.n_bins) / N_AVERAGED
        return shares

    def _keeps(self, code: int) -> bool:
        """Whether residuals of a pattern are kept, or there is room for them."""
        size = self.table.n_bins * len(self.donors)
        return self.coded and (code in self._moves or (len(self._moves) + 1) * size <= MAX_CELLS)

    def _moves_of(self, row: FilledRows, code: int) -> Single:
        """What each donor's residual adds to the distances of rows with the pattern of this one: (bins, donors)."""
        found = self._moves.get(code) if self.coded else None
        if found is None:
            found = self._solve(row, np.arange(len(self.donors))[None])
            if self._keeps(code):
                self._moves[code] = found
        return found

    def _solve(self, row: FilledRows, choice: Indices) -> Single:
        return self.table.moves(row.residual_steps(self.table, self.donors, choice))
