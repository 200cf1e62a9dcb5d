"""Parts of a result as tables of pandas or polars."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from gapdrift._validation import check_choice
from gapdrift.errors import GapdriftError
from gapdrift.results.report.ranking import rank_features
from gapdrift.results.result import DriftResult

__all__ = ["PARTS", "make_frame"]

LIBRARIES = ("pandas", "polars")

Row = dict[str, Any]

NESTED = frozenset({"histogram", "new_categories", "range_reference", "range_window"})
"""Fields of a `FeatureFinding` that are no single value."""


def make_frame(result: DriftResult, part: str, library: str | None) -> Any:
    """Table of one part of a result, made by ``library`` or by the first of `LIBRARIES` that is installed."""
    rows = PARTS[check_choice("part", part, PARTS)](result)
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {_storable(name): [_storable(row.get(name)) for row in rows] for name in names}
    return _frame_class(library)(columns)


def _storable(cell: Any) -> Any:
    """Cell as it is; of a text, half of a surrogate pair is escaped, since no table can hold it."""
    return cell.encode("utf-8", "backslashreplace").decode() if isinstance(cell, str) else cell


def _frame_class(library: str | None) -> Any:
    if library is not None:
        check_choice("library", library, LIBRARIES)
    wanted = LIBRARIES if library is None else (library,)
    present = [name for name in wanted if find_spec(name) is not None]
    if not present:
        raise GapdriftError(f"Tables need {' or '.join(wanted)}: pip install {wanted[0]}.")
    return import_module(present[0]).DataFrame


def _feature_rows(result: DriftResult) -> list[Row]:
    rows = []
    for feature in rank_features(result):
        row = {name: value for name, value in vars(feature).items() if name not in NESTED}
        untested = [] if feature.tested else ["p_value", "adjusted_p_value", "effect_size"]
        untested += [] if feature.missing_tested else ["missing_p_value", "adjusted_missing_p_value"]
        rows.append({**row, **dict.fromkeys(untested)})
    return rows


def _bin_rows(result: DriftResult) -> list[Row]:
    rows = []
    for entry in result.bins:
        row = asdict(entry)
        centre = row.pop("centre")
        rows.append({**row, **{f"centre of {name}": value for name, value in centre.items()}})
    return rows


def _pair_rows(result: DriftResult) -> list[Row]:
    return [
        {
            "first": pair.first,
            "second": pair.second,
            "p_value": pair.p_value,
            "adjusted_p_value": pair.adjusted_p_value,
            "effect_size": pair.effect_size,
            "is_straight": pair.is_straight,
            "correlation_reference": pair.reference.correlation,
            "correlation_window": pair.window.correlation,
            "rows_reference": pair.reference.n_rows,
            "rows_window": pair.window.n_rows,
        }
        for pair in result.pairs
    ]


PARTS: Mapping[str, Callable[[DriftResult], list[Row]]] = {
    "features": _feature_rows,
    "bins": _bin_rows,
    "pairs": _pair_rows,
}
"""Function that gives the rows of each part."""
