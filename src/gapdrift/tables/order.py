"""Whether consecutive rows of a table are alike."""

import numpy as np
from scipy.special import chdtrc, ndtr

from gapdrift._typing import Matrix, Vector
from gapdrift.tables.encoding import Encoded
from gapdrift.tables.schema import Schema

__all__ = ["consecutive_rows_note"]

N_PANES = 64
"""Panes of consecutive rows whose means are looked at, about."""

CLEARLY = 1e-6
"""p-value, times the number of columns, below which consecutive rows are clearly alike."""

MIN_RATIO, MIN_CORRELATION = 1.5, 0.1
"""Variance of means of consecutive rows over that of independent rows, and correlation, that matter."""

MIN_ROWS = 100


def consecutive_rows_note(rows: Encoded, schema: Schema) -> tuple[str, ...]:
    """Sentence for the user where consecutive rows are clearly alike; none otherwise.

    Notes
    -----
    Means of L consecutive rows have variance v / L where rows are independent; and neighbours have no correlation.
    """
    if len(rows) < MIN_ROWS:
        return ()
    scores = _standardised(rows.values)
    ratio, unlikely, length = _pane_ratios(scores)
    near, unlikely_near = _neighbours(scores)
    p_values = np.minimum(unlikely, unlikely_near) * 2.0 * max(scores.shape[1], 1)
    alike = (p_values < CLEARLY) & ((ratio > MIN_RATIO) | (near > MIN_CORRELATION))
    if not alike.any():
        return ()
    worst = int(np.argmax(np.where(alike, ratio, -np.inf)))
    name = schema.columns[int(schema.owner[worst])].name
    return (
        f"Consecutive rows are alike: the correlation of neighbours in {name!r} is {near[worst]:.2f}, and means of "
        f"{length} rows vary {ratio[worst]:.1f} times as much as those of independent rows. If windows will be "
        "consecutive rows as well, they will be called drift far too often: fit with batches=... (how days or weeks "
        "usually differ) or time=... (dependent rows).",
    )


def _standardised(values: Matrix) -> Matrix:
    """Columns with mean 0 and variance 1, large values cut off, 0 where missing."""
    present = ~np.isnan(values)
    number = np.maximum(present.sum(axis=0), 1)
    with np.errstate(all="ignore"):
        clean = np.where(present, values, 0.0)
        centred = np.where(present, clean - clean.sum(axis=0) / number, 0.0)
        scale = np.sqrt((centred**2).sum(axis=0) / number)
        scores = np.clip(centred / np.where(scale > 0, scale, 1.0), -4.0, 4.0)
    found: Matrix = np.nan_to_num(scores)
    return found


def _pane_ratios(scores: Matrix) -> tuple[Vector, Vector, int]:
    """Variance of pane means over that of independent rows, p-values, and the rows of a pane.

    Sums of values of excess kurtosis k vary as those of fewer Gaussian panes: by 1 + k / 2L, for L rows in each.
    """
    length = max(len(scores) // N_PANES, 8)
    n_panes = len(scores) // length
    sums = scores[: n_panes * length].reshape(n_panes, length, -1).sum(axis=1)
    variance = np.maximum((scores**2).sum(axis=0) / len(scores), 1e-9)
    ratio = sums.var(axis=0, ddof=1) / (length * variance)
    heavy = np.maximum((scores**4).sum(axis=0) / len(scores) / variance**2 - 3.0, 0.0)
    freedom = (n_panes - 1) / (1.0 + heavy / (2.0 * length))
    return ratio, chdtrc(freedom, ratio * freedom), length


def _neighbours(scores: Matrix) -> tuple[Vector, Vector]:
    """Correlation of neighbouring rows, and p-values: one pair of rare values tells nothing."""
    products = scores[1:] * scores[:-1]
    squares = np.maximum((scores**2).sum(axis=0), 1e-9)
    deviation = np.sqrt(np.maximum((products**2).sum(axis=0), 1e-9))
    return products.sum(axis=0) / squares, ndtr(-products.sum(axis=0) / deviation)
