"""Regions of the space of rows: they show where a window has more or fewer rows, and test nothing.

A row is in the region whose centre is nearest by the mean squared difference over the observed cells of the row.
Centres are whole numbers, as u is, so that distances are exact and the first of equals is the same everywhere.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gapdrift._typing import Indices, Mask
from gapdrift.counting.functions import LARGEST_STEP, Functions
from gapdrift.models.partition import fit_partition
from gapdrift.persistence.records import expect, expect_range, expect_shape, stored

__all__ = ["MAX_REGIONS", "Regions", "default_n_regions", "fit_regions", "nearest"]

Single = NDArray[np.float32]

ROWS_PER_REGION = 50
"""Rows of the reference for each region."""

DEFAULT_REGIONS = 20
"""Regions by default, at most: more are hardly looked at."""

MAX_REGIONS = 256
"""Regions, at most: their numbers have 8 bits."""

MIN_CELLS = 5
"""Observed cells of a column in a region below which nothing is said of them."""

MAX_FITTED_ROWS = 4_096
"""Rows of the reference that regions are learned from, at most."""


@stored
@dataclass(frozen=True, eq=False)
class Regions:
    """Regions, given by their centres.

    Parameters
    ----------
    centres : (regions, columns) array of int
        In steps of u, of the matrix columns in `Functions.columns`.
    known : (regions, columns) array of bool
        Whether enough cells were observed in a region to say where they lie.
    """

    centres: Indices
    known: Mask

    def __len__(self) -> int:
        """Return the number of regions."""
        return len(self.centres)

    def check_stored(self) -> None:
        """Check what was read from a file: some regions, with centres that scores can reach."""
        expect_shape(self.centres, (-1, -1), "centres of regions")
        expect(1 <= len(self.centres) <= MAX_REGIONS, f"up to {MAX_REGIONS} regions")
        expect_range(self.centres, -LARGEST_STEP, LARGEST_STEP + 1, "centres of regions")
        expect_shape(self.known, self.centres.shape, "what is known of regions")

    def check_fits(self, functions: Functions) -> None:
        """Check that what was read from a file belongs to these functions."""
        expect_shape(self.centres, (-1, len(functions.columns)), "centres of regions")

    def weights(self, functions: Functions) -> tuple[Single, Single]:
        """What u, (regions, columns), and o, (regions, inputs), add to the squared distances to the centres."""
        squares = np.zeros((len(functions.inputs), len(self)), dtype=np.float32)
        np.add.at(squares, functions.function_owner[: len(functions.columns)], self.centres.T**2)
        return (-2.0 * self.centres).astype(np.float32), np.ascontiguousarray(squares.T)


def nearest(weights: tuple[Single, Single], scores: Single, observed: Single) -> Indices:
    """Region of each row; one more than the last where nothing is observed.

    Parameters
    ----------
    weights : pair of arrays
        Of `Regions.weights`.
    scores, observed : (columns, rows) and (inputs, rows) arrays
        u and o.

    Notes
    -----
    Over the observed cells of a row, the sum of (u - c)^2 is that of u^2, the same for all centres, and of
    c^2 o - 2 c u: at most 300 numbers of at most 3 * 6,400, exact in the 24 bits of single precision. With the number
    of the region behind them they fit into 32 bits, so that the smallest is the first of equals.
    """
    distances = weights[0] @ scores + weights[1] @ observed
    keys = distances.astype(np.int32) * MAX_REGIONS + np.arange(len(distances), dtype=np.int32)[:, None]
    found: Indices = (keys.min(axis=0) & (MAX_REGIONS - 1)).astype(np.intp)
    found[observed.max(axis=0, initial=0.0) == 0.0] = len(distances)
    return found


def default_n_regions(n_rows: int) -> int:
    """Number of regions for a reference of so many rows: one for every 50, from 2 to 20."""
    return min(max(n_rows // ROWS_PER_REGION, 2), DEFAULT_REGIONS)


def fit_regions(functions: Functions, codes: NDArray[np.uint16], n_regions: int, rng: np.random.Generator) -> Regions:
    """Regions of the rows of a reference, by k-means: fewer where fewer rows are different.

    Parameters
    ----------
    functions : Functions
    codes : (inputs, rows) array
        Of `Functions.codes`.
    n_regions : int
    rng : numpy.random.Generator

    Notes
    -----
    k-means takes a missing cell for the mean, 0; the centres are then the means of what its clusters observed.
    """
    n_rows, n_columns = codes.shape[1], len(functions.columns)
    if not n_columns:
        return Regions(np.zeros((1, 0), dtype=np.intp), np.zeros((1, 0), dtype=bool))
    chosen = rng.choice(n_rows, min(n_rows, MAX_FITTED_ROWS), replace=False)
    values, observed = functions.values(codes[:, np.sort(chosen)])
    scores = values[:, :n_columns].astype(float)
    partition = fit_partition(scores, n_regions, rng, n_starts=1)
    member = partition.distances(scores).argmin(axis=1) == np.arange(len(partition))[:, None]
    # The centre of a single row would be that row.
    member = member[member.sum(axis=1) > 1] if member.sum(axis=1).max() > 1 else member.any(axis=0, keepdims=True)
    n_observed = member.astype(float) @ observed[:, functions.function_owner[:n_columns]]
    centres = np.rint(member.astype(float) @ scores / np.maximum(n_observed, 1.0))
    centres, first = np.unique(centres.astype(np.intp), axis=0, return_index=True)
    return Regions(centres, n_observed[first] >= MIN_CELLS)
