"""What a record says of its sides and columns: which alarm, which moved, in which order they are told."""

from collections.abc import Mapping
from typing import Any

__all__ = [
    "Record",
    "alarms",
    "compares_gaps",
    "has_moved_gaps",
    "has_moved_values",
    "missing_cells",
    "moved_gaps",
    "moved_values",
    "rank_features",
    "rank_gaps",
    "state",
]

Record = Mapping[str, Any]


def state(record: Record) -> str:
    """Verdict in a word: drift, small (a difference, but below ``min_effect``), none or undetermined."""
    if record["drift"] is None:
        return "undetermined"
    if record["drift"]:
        return "drift"
    return "small" if record["p_value"] < record["alpha"] else "none"


def alarms(record: Record) -> list[str]:
    """Values, gaps or both: whichever alarms on its own, else the one with the smaller p-value."""
    sides = [] if record["values"]["reason"] else [("values", record["values"]["p_value"])]
    if record["missingness"] is not None:
        sides.append(("gaps", record["missingness"]["p_value"]))
    found = [name for name, p_value in sides if p_value < record["alpha"]]
    return found or [name for name, _ in sorted(sides, key=lambda side: side[1])[:1]]


def has_moved_values(feature: Record, record: Record) -> bool:
    """Whether a column's values differ by its own adjusted p-value."""
    return _below(feature["adjusted_p_value"], record["alpha"])


def has_moved_gaps(feature: Record, record: Record) -> bool:
    """Whether a column's share of missing cells differs by its own adjusted p-value."""
    return _below(feature["adjusted_missing_p_value"], record["alpha"])


def moved_values(record: Record) -> list[Record]:
    """Columns whose values moved, the largest effect first."""
    moved = [feature for feature in record["features"] if has_moved_values(feature, record)]
    return sorted(moved, key=lambda feature: -(feature["effect_size"] or 0.0))


def moved_gaps(record: Record) -> list[Record]:
    """Columns whose gaps moved, the largest change first."""
    moved = [feature for feature in record["features"] if has_moved_gaps(feature, record)]
    return sorted(moved, key=lambda feature: -_gap_change(feature))


def rank_features(record: Record) -> list[Record]:
    """All columns: moved values by their effect, moved gaps by their change, then the others by p-value."""

    def rank(feature: Record) -> tuple[int, float]:
        if has_moved_values(feature, record):
            return 0, -(feature["effect_size"] or 0.0)
        if has_moved_gaps(feature, record):
            return 1, -_gap_change(feature)
        return 2, 2.0 if feature["p_value"] is None else feature["p_value"]

    return sorted(record["features"], key=rank)


def rank_gaps(record: Record) -> list[Record]:
    """All columns: moved gaps first, then by the change of their share of missing cells, then by that share."""

    def rank(feature: Record) -> tuple[bool, float, float]:
        share = max(feature["missing_reference"], feature["missing_window"])
        return not has_moved_gaps(feature, record), -_gap_change(feature), -share

    return sorted(record["features"], key=rank)


def compares_gaps(record: Record) -> bool:
    """Whether the detector compares the gaps, even where there is nothing to compare."""
    return record["missingness"] is not None or any(f["missing_p_value"] is not None for f in record["features"])


def missing_cells(record: Record) -> tuple[float, float] | None:
    """Share of missing cells of reference and window; None where no column is told."""
    features = record["features"]
    if not features:
        return None
    sums = [sum(feature[side] for feature in features) for side in ("missing_reference", "missing_window")]
    return sums[0] / len(features), sums[1] / len(features)


def _gap_change(feature: Record) -> float:
    return float(abs(feature["missing_window"] - feature["missing_reference"]))


def _below(p_value: float | None, alpha: float) -> bool:
    return p_value is not None and p_value < alpha
