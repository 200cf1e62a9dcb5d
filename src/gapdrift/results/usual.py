"""Records of a window among the usual batches."""

from dataclasses import dataclass

from gapdrift.persistence.records import expect, stored

__all__ = ["BatchStrip", "UsualVariation"]


@stored
@dataclass(frozen=True)
class BatchStrip:
    """One number of each batch of the reference, and the same of the window.

    Parameters
    ----------
    name : str
        Of the column; empty for the whole table.
    kind : {"whole", "values", "missing"}
        "whole": how unusual a batch is among the others, as -log10 of a p-value. "values": mean of the column's values,
        in standard deviations between batches. "missing": share of missing cells.
    batches : tuple of float
    window : float or None
        None if the window has no values.

    Examples
    --------
    >>> BatchStrip("price", "missing", (0.1, 0.12, 0.09), 0.4).window
    0.4
    """

    name: str
    kind: str
    batches: tuple[float, ...]
    window: float | None

    def check_stored(self) -> None:
        """Check what was read from a file: a known kind."""
        expect(self.kind in {"whole", "values", "missing"}, "a strip of the whole, of values or of missing cells")


@stored
@dataclass(frozen=True)
class UsualVariation:
    """The window among the batches of the reference, whose usual variation the verdict is about.

    Parameters
    ----------
    n_batches : int
    unit : str
        What a batch is: "7d", a column, "batches" or, for dependent rows, "rows in order of" and the column.
    p_value : float
        Of the window being no more unusual than batches are; the p-value of the verdict.
    rows_p_value : float
        Of the window being like the rows of the reference, all taken as independent.
    n_needed : int
        Batches from which on p-values as small as alpha rest on ranks alone.
    strips : tuple of BatchStrip
        Of the whole table first, then of columns.

    Examples
    --------
    >>> UsualVariation(52, "7d", 0.4, 1e-12, 19).n_batches
    52
    """

    n_batches: int
    unit: str
    p_value: float
    rows_p_value: float
    n_needed: int
    strips: tuple[BatchStrip, ...] = ()

    def check_stored(self) -> None:
        """Check what was read from a file: probabilities, and some batches."""
        expect(0 < self.p_value <= 1 and 0 < self.rows_p_value <= 1, "p-values above 0, at most 1")
        expect(self.n_batches > 0 and self.n_needed >= 0, "numbers of batches")
