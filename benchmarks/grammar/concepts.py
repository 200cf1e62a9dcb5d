"""Tables with a label that depends on the other columns as before, wherever these have moved to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

__all__ = ["MOST_COLUMNS", "MOVES", "ConceptCase", "drawn_concept"]

Rng = np.random.Generator
Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

MARGINALS: Mapping[str, Callable[[Matrix], Matrix]] = MappingProxyType(
    {
        "normal": lambda x: x,
        "log-normal": np.exp,
        "heavy": lambda x: np.sign(x) * np.abs(x) ** 1.7,
        "bounded": np.arctan,
        "ordinal": lambda x: x,
        "category": lambda x: x,
    }
)
"""From the numbers that a label follows to those of the table; ordinals and categories are rounded before."""

ROUNDED = {"ordinal": 2.0, "category": 1.5}
"""Largest number of those that are rounded."""

MEANS: Mapping[str, Callable[[Vector], Vector]] = MappingProxyType(
    {
        "linear": lambda along: along,
        "steep": lambda along: 2.0 * np.tanh(2.0 * along),
        "size": lambda along: 1.5 * np.abs(along),
        "waves": lambda along: np.sin(2.0 * along),
        "step": lambda along: np.where(along > 0.3, 2.0, 0.0),
        "product": lambda along: along,
        "square": lambda along: along**2,
    }
)
"""What the label follows, of a sum of some columns; of the product of two of them."""

NOISES: Mapping[str, Callable[[Matrix, Rng], Vector]] = MappingProxyType(
    {
        "number": lambda x, rng: rng.normal(size=len(x)),
        "uneven": lambda x, rng: np.exp(0.5 * x[:, 0]) * rng.normal(size=len(x)),
        "heavy": lambda x, rng: rng.standard_t(2, len(x)),
        "skew": lambda x, rng: rng.exponential(size=len(x)),
    }
)
"""Of labels that are numbers."""

MOST_COLUMNS = 60
"""Columns but the label; widths are drawn on a logarithmic scale."""

CLASSES = ("two", "two", "rare", "three", "six")
MOVES = ("none", "shift", "shift", "wider", "narrower", "shift and wider", "unrelated", "selected")


@dataclass(frozen=True)
class ConceptCase:
    """A law of labels given the other columns, sizes, and how these columns move.

    Parameters
    ----------
    seed : int
    n_reference, n_window : int
    marginals : tuple of str
        Of the columns but the label.
    correlation : float
        Of all pairs of them.
    slopes : tuple of float
        Of the sum that the label follows.
    mean, label, move : str
    noise, steepness : float
        Of a label that is a number, and of classes.
    shift : tuple of float
        By how much the columns move, in standard deviations, where they do.
    scale : float
        How many times as far they scatter, or as little.
    missing_reference, missing_window : float
        Shares of missing cells of all columns but the label.
    """

    seed: int
    n_reference: int
    n_window: int
    marginals: tuple[str, ...]
    correlation: float
    slopes: tuple[float, ...]
    mean: str
    label: str
    move: str
    noise: float
    steepness: float
    shift: tuple[float, ...]
    scale: float
    missing_reference: float
    missing_window: float

    @property
    def name(self) -> str:
        """Name by which results are kept."""
        return f"drawn {self.seed}"

    def pair(self, trial: int) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Reference and window of a trial, all rows fresh."""
        rng = np.random.default_rng([self.seed, trial, 5])
        reference = self._table(self._rows(self.n_reference, "none", rng), self.missing_reference, rng)
        return reference, self._table(self._rows(self.n_window, self.move, rng), self.missing_window, rng)

    def _rows(self, n_rows: int, move: str, rng: Rng) -> Matrix:
        if move == "selected":
            rows = self._rows(6 * n_rows, "none", rng)
            return rows[rng.random(len(rows)) < expit(2.0 * rows[:, 0] + rows[:, -1])][:n_rows]
        width = len(self.marginals)
        correlation = np.full((width, width), 0.0 if move == "unrelated" else self.correlation)
        np.fill_diagonal(correlation, 1.0)
        rows = rng.normal(size=(n_rows, width)) @ np.linalg.cholesky(correlation).T
        if "wider" in move:
            rows *= self.scale
        if move == "narrower":
            rows /= self.scale
        if "shift" in move:
            rows += self.shift
        for column, kind in enumerate(self.marginals):
            if kind in ROUNDED:
                rows[:, column] = np.round(np.clip(rows[:, column], -ROUNDED[kind], ROUNDED[kind]))
        return rows

    def _table(self, rows: Matrix, missing: float, rng: Rng) -> pd.DataFrame:
        labels = self._labels(rows, rng)
        columns: dict[str, Any] = {}
        for column, kind in enumerate(self.marginals):
            shown: Any = MARGINALS[kind](rows[:, column])
            if kind == "category":
                shown = np.array([f"value {value:.0f}" for value in shown], dtype=object)
            hidden = rng.random(len(rows)) < missing
            shown[hidden] = None if kind == "category" else np.nan
            columns[f"x{column}"] = shown
        return pd.DataFrame({**columns, "y": labels})

    def _labels(self, rows: Matrix, rng: Rng) -> Any:
        along = rows[:, 0] * rows[:, -1] if self.mean == "product" else rows @ np.array(self.slopes)
        mean = MEANS[self.mean](along)
        if self.label in NOISES:
            return mean + self.noise * NOISES[self.label](rows, rng)
        if self.label == "count":
            return rng.poisson(np.exp(np.clip(mean, -3.0, 3.0))).astype(float)
        if self.label == "six":
            steps = np.clip(np.round(mean + 2.5 + self.noise * rng.normal(size=len(rows))), 0, 5)
        else:
            first = rng.random(len(rows)) < expit(self.steepness * mean - 3.0 * (self.label == "rare"))
            steps = first.astype(float)
            if self.label == "three":
                steps += 2.0 * ((rng.random(len(rows)) < expit(self.steepness * rows[:, -1])) & ~first)
        return np.array([f"class {step:.0f}" for step in steps], dtype=object)

    def __str__(self) -> str:
        kinds = ", ".join(sorted(set(self.marginals)))
        gaps = f"{self.missing_reference:.0%} missing"
        if self.missing_window != self.missing_reference:
            gaps = f"{self.missing_reference:.0%} -> {self.missing_window:.0%} missing"
        sizes = f"{self.n_reference:,} against {self.n_window:,} rows x {len(self.marginals)} ({kinds})"
        return f"{sizes}: {self.label} by {self.mean}; x: {self.move}; {gaps}"


def drawn_concept(seed: int) -> ConceptCase:
    """The case that a seed determines."""
    rng = np.random.default_rng([seed, 77])
    width = int(np.rint(np.exp(rng.uniform(0.0, np.log(MOST_COLUMNS)))))
    n_reference, n_window = (int(np.exp(rng.uniform(np.log(low), np.log(4_000)))) for low in (150, 100))
    n_followed = rng.integers(1, 5) if rng.random() < 0.7 else rng.integers(1, width + 1)
    slopes = rng.normal(size=width) * (np.arange(width) < n_followed)
    missing = float(rng.choice([0.0, 0.0, 0.1, 0.2, 0.4]))
    shift = float(rng.uniform(0.3, 1.5)) * np.r_[1.0, rng.choice([-1.0, 0.0, 1.0], width - 1)]
    return ConceptCase(
        seed=seed,
        n_reference=n_reference,
        n_window=n_window,
        marginals=tuple(str(kind) for kind in rng.choice(["normal", *MARGINALS], width)),
        correlation=float(rng.choice([0.0, 0.3, 0.6])),
        slopes=tuple((slopes / np.linalg.norm(slopes)).tolist()),
        mean=str(rng.choice(list(MEANS))),
        label=str(rng.choice([*NOISES, "count", *CLASSES])),
        move=str(rng.choice(MOVES)),
        noise=float(rng.choice([0.2, 0.5, 1.0])),
        steepness=float(rng.choice([1.5, 3.0, 6.0])),
        shift=tuple(shift.tolist()),
        scale=float(rng.uniform(1.3, 2.0)),
        missing_reference=missing,
        missing_window=missing if rng.random() < 0.7 else float(rng.choice([0.0, 0.1, 0.3, 0.5])),
    )
