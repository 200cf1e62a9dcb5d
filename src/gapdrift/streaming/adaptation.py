"""A new reference from rows of the stream, which are kept in plain form for it."""

from typing import Any

import numpy as np
from sklearn.base import clone

from gapdrift.detectors.base import Detector
from gapdrift.errors import GapdriftError, InputError
from gapdrift.streaming.panes import Cells
from gapdrift.tables.frame import Table

__all__ = ["as_table", "plain_cells", "refit"]


def plain_cells(table: Table, names: tuple[str, ...]) -> Cells:
    """Rows in plain form: the reference's columns, or all of an array, as lists of numbers, texts and None."""
    cells: dict[str, list[Any]] = {}
    for name in names if table.named else table.names:
        column = table.column(name)
        present = [bool(cell) if column.is_boolean else cell for cell in column.values.tolist()]
        cells[name] = [None if gap else cell for cell, gap in zip(present, column.missing.tolist(), strict=True)]
    return cells


def as_table(detector: Detector, cells: Cells) -> Any:
    """Table that a detector takes, of rows in plain form."""
    if detector.reference_.schema.named:
        return cells
    return np.column_stack([np.array([*column, None], dtype=object)[:-1] for column in cells.values()])


def refit(detector: Detector, pieces: list[Cells]) -> Detector:
    """Detector with the same settings, fitted on rows that were kept."""
    together = {name: [cell for cells in pieces for cell in cells[name]] for name in pieces[0]}
    fresh: Detector = clone(detector)
    if detector.reference_.schema.named and "ignore" in fresh.get_params():
        # What was to be ignored is not among the columns kept.
        fresh.set_params(ignore=())
    try:
        fitted: Detector = fresh.fit(as_table(detector, together))
    except GapdriftError as error:
        raise InputError(str(error)) from error
    return fitted
