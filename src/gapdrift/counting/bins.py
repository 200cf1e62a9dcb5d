"""Bins of rows: which centre each completion of a row is nearest to, in whole numbers.

|y - c|^2 - |y|^2 is linear in y, so that a completion, the expected row plus a residual, is placed by the products of
both with the centres. Positions and centres are rounded to whole steps so small that all sums are exact: the nearest
centre is then the same whatever order they are added up in.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gapdrift._typing import Indices, Matrix
from gapdrift.counting.profile import MAX_BINS, Profile

__all__ = ["BinTable", "Single", "choose_donors", "make_bin_table", "memberships", "nearest"]

Single = NDArray[np.float32]

DISTANCE_BITS = 22
"""Bits of a distance."""

REACH = 256.0
"""Whole steps from 0 to the edge of the space in which positions are told apart."""


@dataclass(frozen=True, eq=False)
class BinTable:
    """Centres in whole steps.

    Parameters
    ----------
    per_step : float
        Whole steps per unit of a score, a power of two.
    reach : float
        Positions and residuals beyond so many steps are taken as there.
    products : (columns, bins) array of single precision
        -2 c in whole steps: what one step of each column adds to the distance of each centre.
    squares : (bins,) array of single precision
        |c|^2 in whole steps.
    """

    per_step: float
    reach: float
    products: Single
    squares: Single

    def steps(self, positions: Matrix) -> Single:
        """Positions, or residuals, in whole steps."""
        whole = np.floor(positions * self.per_step + 0.5)
        return np.clip(whole, -self.reach, self.reach).astype(np.float32)

    def distances(self, steps: Single) -> Single:
        """Squared distances to the centres less each row's own square: (bins, rows), whole numbers."""
        return self.moves(steps) + self.squares[:, None]

    def moves(self, residual_steps: Single) -> Single:
        """What residuals add to the distances of the positions that they belong to: (bins, rows), whole numbers."""
        found: Single = self.products.T @ residual_steps.T
        return found

    @property
    def arrays(self) -> tuple[Single, Single, float, float]:
        """What machine code takes of the centres."""
        return self.products, self.squares, self.per_step, self.reach

    @cached_property
    def n_bins(self) -> int:
        """Number of bins."""
        return len(self.squares)


def make_bin_table(profile: Profile) -> BinTable:
    """Centres of a profile in whole steps."""
    centres = profile.directions @ profile.centres.T
    radius = 2.0 ** np.ceil(np.log2(2.0 * max(float(np.abs(profile.centres).max(initial=0.0)), 1.0)))
    # A position is an expected score and a residual, each of at most `reach` steps.
    reach = REACH
    while True:
        per_step = reach / radius
        room = 2.0**DISTANCE_BITS / (4.0 * reach * max(float(np.abs(centres).sum(axis=0).max()), 1e-9))
        finer = 2.0 ** np.floor(np.log2(room))
        squares = (profile.centres**2).sum(axis=1) * per_step * finer
        if finer >= per_step / 2.0 or reach <= 16.0:
            break
        reach /= 2.0
    products = -2.0 * np.rint(centres * finer)
    return BinTable(per_step, reach, products.astype(np.float32), np.rint(squares).astype(np.float32))


def choose_donors(identity: NDArray[np.uint64], n_donors: int, n_spread: int) -> Indices:
    """Donors of each row, (rows, n_spread): evenly spaced from one that a hash of the row's observed values chooses.

    The same row always gets the same donors, whatever rows come with it.
    """
    hashed = (identity * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
    first = ((hashed * np.uint64(n_donors)) >> np.uint64(32)).astype(np.intp)
    steps = np.arange(n_spread) * n_donors // n_spread
    return (first[:, None] + steps) % n_donors


def nearest(distances: Single) -> Indices:
    """Nearest centre by distances of shape (bins, rows), the first of equally near ones: (rows,)."""
    # The number of the bin in the last eight bits: the smallest number then tells the nearest bin.
    keys = distances.astype(np.int32)
    keys *= MAX_BINS
    keys += np.arange(len(keys), dtype=np.int32)[:, None]
    smallest: Indices = np.minimum.reduce(keys, axis=0).astype(np.intp)
    return smallest & (MAX_BINS - 1)


def memberships(table: BinTable, base: Single, residual_steps: Single, n_spread: int) -> Matrix:
    """Shares of the completions of each row in each bin: (rows, bins).

    Parameters
    ----------
    table : BinTable
    base : (bins, rows) array
        Distances of the expected rows.
    residual_steps : (rows * n_spread, columns) array
        Residuals of the completions of each row, one after the other, in whole steps.
    n_spread : int
    """
    n_bins, n_rows = base.shape
    places = nearest(np.repeat(base, n_spread, axis=1) + table.moves(residual_steps))
    places += np.repeat(np.arange(n_rows) * n_bins, n_spread)
    return np.bincount(places, minlength=n_rows * n_bins).reshape(n_rows, n_bins) / n_spread
