"""What MDL-FWF compares of a batch: the shares of its bins."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from gapdrift._typing import Vector
from gapdrift.counting.evidence import Evidence
from gapdrift.inference.batches import Block, Variation

__all__ = ["FuzzyBatchStatistics"]


class FuzzyBatchStatistics:
    """Statistics of batches: shares of the bins, and missing rates, which are shown and not tested.

    Both are the arcsine of the root, whose variance does not depend on the share. MDL-FWF tests no missingness and no
    single columns.

    Parameters
    ----------
    n_columns : int
        Number of input columns.
    """

    def __init__(self, n_columns: int) -> None:
        self.n_columns = n_columns
        self.basis: Mapping[str, Vector] = {}

    def of(self, evidence: Evidence) -> dict[str, Vector]:
        """Statistics of one batch, by the names of their blocks."""
        shares = {"bins": evidence.sums["weights"], "rates": evidence.sums["missing"]}
        return {name: np.arcsin(np.sqrt(np.clip(sums / evidence.n_rows, 0, 1))) for name, sums in shares.items()}

    def within(self, _evidence: Evidence) -> Mapping[str, NDArray[np.float64]]:
        """Sums of products within one batch: none are needed."""
        return {}

    def blocks(
        self,
        _within: Mapping[str, NDArray[np.float64]],
        _n_rows: float,
        *,
        as_panes: bool = False,  # noqa: ARG002
    ) -> tuple[Block, ...]:
        """How the statistics are compared."""
        return (Block("bins", 0.05, 0.5, 0.5),)

    def column_tests(self, _variation: Variation, _residuals: Mapping[str, Vector]) -> tuple[None, Vector]:
        """No p-values of single columns."""
        return None, np.ones(self.n_columns)

    def shown(self, _residuals: Mapping[str, Vector]) -> list[tuple[int, int]]:
        """No columns: their values are not counted one by one."""
        return []
