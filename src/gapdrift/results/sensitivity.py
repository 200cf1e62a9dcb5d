"""Records of what a window of some size will find."""

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["ColumnSensitivity", "Sensitivity"]


@dataclass(frozen=True)
class ColumnSensitivity:
    """The smallest changes of one column that are found; None where no change within reason is.

    Parameters
    ----------
    name : str
    shift : float or None
        Of the mean, in the column's own unit; for categories, share of the rows that change to another one.
    shift_in_deviations : float or None
        The same, in standard deviations of the column; None for categories.
    missing_before, missing : float or None
        Share of missing cells of the reference, and the smallest larger one that is found.
    partner : str or None
        Column that it is most correlated with; None where there is no other column of numbers.
    correlation_before, correlation : float or None
        Their correlation, of normal scores, and the nearest one towards and beyond 0 that is found.

    Examples
    --------
    >>> ColumnSensitivity("price", 0.2, 0.1, 0.05, 0.11).missing
    0.11
    """

    name: str
    shift: float | None
    shift_in_deviations: float | None
    missing_before: float
    missing: float | None
    partner: str | None = None
    correlation_before: float | None = None
    correlation: float | None = None


@dataclass(frozen=True)
class Sensitivity:
    """The smallest changes that a window of some rows finds with some probability.

    Parameters
    ----------
    n_rows : int
        Rows of the window.
    power : float
        Probability with which each of the changes is found.
    alpha : float
        Rate of false alarms.
    n_batches : int or None
        Batches whose usual variation was taken into account.
    columns : tuple of ColumnSensitivity

    Examples
    --------
    >>> column = ColumnSensitivity("price", 0.2, 0.1, 0.05, 0.11)
    >>> print(Sensitivity(500, 0.8, 0.05, None, (column,)).summary())
    A window of 500 rows finds each of these changes with probability 0.8 (alpha 0.05):
    price: mean by 0.2 (0.10 standard deviations); missing 5.0% -> 11.0%
    """

    n_rows: int
    power: float
    alpha: float
    n_batches: int | None
    columns: tuple[ColumnSensitivity, ...]

    def summary(self) -> str:
        """All changes in a few lines of text, one for each column."""
        among = "" if self.n_batches is None else f", beyond the usual variation of {self.n_batches} batches"
        head = (
            f"A window of {self.n_rows} rows finds each of these changes with probability {self.power:g} "
            f"(alpha {self.alpha:g}{among}):"
        )
        return "\n".join([head, *map(_line, self.columns)])

    def to_dict(self) -> dict[str, Any]:
        """All changes as plain dicts, lists and numbers."""
        return asdict(self)


def _line(column: ColumnSensitivity) -> str:
    if column.shift is None:
        words = ["no change of its values"]
    elif column.shift_in_deviations is None:
        words = [f"{column.shift:.1%} of rows in another category"]
    else:
        words = [f"mean by {column.shift:.3g} ({column.shift_in_deviations:.2f} standard deviations)"]
    if column.missing is not None:
        words.append(f"missing {column.missing_before:.1%} -> {column.missing:.1%}")
    if column.correlation is not None:
        words.append(f"correlation with {column.partner} {column.correlation_before:.2f} -> {column.correlation:.2f}")
    return f"{column.name}: {'; '.join(words)}"
