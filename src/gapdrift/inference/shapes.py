"""How the entries of one row are distributed: variance, skewness and kurtosis."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from gapdrift.persistence.records import INFINITE, expect, expect_shape, stored

__all__ = ["EntryShape", "shape_of"]


@stored
@dataclass(frozen=True, eq=False)
class EntryShape:
    """How one entry of each row is distributed: variance, skewness and excess kurtosis.

    Parameters
    ----------
    variance, skewness, kurtosis : arrays
        The kurtosis is infinite where an entry says nothing.
    n_rows : array
        Rows that they were learned from.
    """

    variance: NDArray[np.float64]
    skewness: NDArray[np.float64]
    kurtosis: Annotated[NDArray[np.float64], INFINITE]
    n_rows: NDArray[np.float64]

    def check_shape(self, shape: tuple[int, ...]) -> None:
        """Check what was read from a file: one of each for each entry."""
        for part in (self.variance, self.skewness, self.kurtosis, self.n_rows):
            expect_shape(part, shape, "the shape of entries")
        expect(bool(np.all(self.variance >= 0.0)), "variances from 0")

    def heavier(self, factor: NDArray[np.float64]) -> "EntryShape":
        """With so many times the kurtosis."""
        return replace(self, skewness=self.skewness * np.sqrt(factor), kurtosis=(self.kurtosis + 3.0) * factor - 3.0)

    def at(self, places: object) -> "EntryShape":
        """Of some entries."""
        return EntryShape(*(part[places] for part in (self.variance, self.skewness, self.kurtosis, self.n_rows)))


def shape_of(powers: NDArray[np.float64], n_rows: NDArray[np.float64], least: float) -> EntryShape:
    """EntryShape of entries from the means of their first four powers."""
    first, second, third, fourth = powers
    variance = np.maximum(second - first**2, 0.0)
    present = variance > least
    safe = np.where(present, variance, 1.0)
    cubes = third - 3.0 * first * second + 2.0 * first**3
    fourths = fourth - 4.0 * first * third + 6.0 * first**2 * second - 3.0 * first**4
    skewness = np.where(present, cubes / safe**1.5, 0.0)
    kurtosis = np.where(present, np.maximum(fourths / safe**2 - 3.0, -2.0), np.inf)
    return EntryShape(variance, skewness, kurtosis, n_rows)
