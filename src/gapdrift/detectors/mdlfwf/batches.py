"""What MDL-FWF compares of a batch: the shares of its bins."""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from gapdrift._typing import Matrix, Vector
from gapdrift.counting.evidence import Evidence
from gapdrift.counting.functions import Functions
from gapdrift.counting.sums import Side
from gapdrift.inference.batch_models import Block
from gapdrift.inference.batches import Judgement, stacked

__all__ = ["FuzzyBatchStatistics"]


class FuzzyBatchStatistics:
    """Statistics of batches: shares of the bins, and missing rates, which are shown and not tested.

    Shares of bins are the arcsine of the root, whose variance does not depend on them. MDL-FWF tests no
    missingness and no single columns.

    Parameters
    ----------
    functions : Functions
    """

    def __init__(self, functions: Functions) -> None:
        self.functions = functions
        self.basis: Mapping[str, NDArray[np.float64]] = {}

    def of(self, evidence: Evidence) -> dict[str, Vector]:
        """Statistics of one batch, by the names of their blocks."""
        shares = np.clip(evidence.sums["weights"] / evidence.n_rows, 0.0, 1.0)
        missing = Side(self.functions, evidence).missing / evidence.n_rows
        return {"bins": np.arcsin(np.sqrt(shares)), "missing": missing}

    def learn(self, parts: Iterable[Evidence]) -> tuple[dict[str, Matrix], dict[str, NDArray[np.float64]]]:
        """Statistics of batches, and their basis: none is needed."""
        return stacked([self.of(part) for part in parts]), {}

    def blocks(self, *, as_panes: bool = False) -> tuple[Block, ...]:  # noqa: ARG002
        """How the statistics are compared."""
        return (Block("bins", 0.05, 0.5, 0.5),)

    def column_tests(self, _judgement: Judgement) -> tuple[None, Vector]:
        """No p-values of single columns."""
        return None, np.ones(len(self.functions.axes))

    def shown(self, _residuals: Mapping[str, Vector]) -> list[tuple[int, str, int]]:
        """No columns: their values are not counted one by one."""
        return []
