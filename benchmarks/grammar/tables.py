"""A law of rows, and the tables that hold them: arrays, frames of typed columns, frames with declared categories."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.grammar.dependence import COPIES, Dependence
from benchmarks.grammar.marginals import SUM, Marginal

__all__ = ["ARRAY", "CATEGORICAL", "FORMS", "FRAME", "Law", "as_table"]

Matrix = NDArray[np.float64]
ARRAY, FRAME, CATEGORICAL = "numpy", "pandas", "pandas with declared categories"
FORMS = (ARRAY, FRAME, CATEGORICAL)


@dataclass(frozen=True)
class Law:
    """The law of a row: a marginal for each column, and how the columns depend on each other."""

    marginals: tuple[Marginal, ...]
    dependence: Dependence

    def draw(self, n_rows: int, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
        """Latent numbers and values of fresh rows, both of shape (rows, columns)."""
        latents = self.dependence.latents(n_rows, len(self.marginals), rng)
        columns = [marginal.values(latent) for marginal, latent in zip(self.marginals, latents.T, strict=True)]
        values = np.column_stack(columns)
        if self.dependence.kind == COPIES:
            _repeat(values, self.marginals)
        return latents, values

    def __str__(self) -> str:
        counts: dict[str, int] = {}
        for marginal in self.marginals:
            counts[str(marginal)] = counts.get(str(marginal), 0) + 1
        names = [f"{count} {name}" for name, count in counts.items()]
        shown = names[:4] + ([f"{len(names) - 4} other kinds"] if len(names) > 4 else [])
        return f"{', '.join(shown)}; {self.dependence}"


def _repeat(values: Matrix, marginals: tuple[Marginal, ...]) -> None:
    """Overwrite the second half of the columns by copies of the first half and by sums of two of its columns."""
    half = (values.shape[1] + 1) // 2
    for place in range(half, values.shape[1]):
        values[:, place] = values[:, place - half]
        if marginals[place].kind == SUM:
            values[:, place] += values[:, (place - half + 1) % half]


def as_table(values: Matrix, missing: NDArray[np.bool_], marginals: tuple[Marginal, ...], form: str) -> Any:
    """Values as a table of this form, without the missing cells."""
    values = np.where(missing, np.nan, values)
    if form == ARRAY:
        return values
    import pandas as pd  # noqa: PLC0415

    declared = form == CATEGORICAL
    columns = zip(values.T, marginals, strict=True)
    return pd.DataFrame({f"c{place}": _column(*column, declared) for place, column in enumerate(columns)})


def _column(values: Matrix, marginal: Marginal, declared: bool) -> Any:
    """Values of one column in the type that a frame would have for them."""
    import pandas as pd  # noqa: PLC0415

    missing = np.isnan(values)
    whole = np.where(missing, 0, values)
    if marginal.kind in {"category", "Zipf category"}:
        names = [f"level {code}" for code in range(int(marginal.size))]
        if declared:
            return pd.Categorical.from_codes(np.where(missing, -1, whole).astype(int), categories=pd.Index(names))
        return np.where(missing, None, np.array(names, dtype=object)[whole.astype(int)])
    if marginal.kind == "bool":
        return pd.arrays.BooleanArray(whole.astype(bool), missing)
    if marginal.kind == "integer":
        return pd.arrays.IntegerArray(whole.astype(np.int64), missing)
    if marginal.kind == "date":
        days = np.datetime64("2020-01-01") + whole.astype("timedelta64[D]")
        return np.where(missing, np.datetime64("NaT"), days).astype("datetime64[ns]")
    return values
