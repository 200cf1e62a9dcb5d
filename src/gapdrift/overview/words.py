"""What a timeline says in words: its state, its facts, and a table for the terminal."""

from collections import Counter
from collections.abc import Sequence
from itertools import takewhile

from gapdrift.overview.points import Timeline, WindowPoint
from gapdrift.results.report.words import format_count, format_p_number, shorten

__all__ = ["SHORT", "describe_state", "list_windows", "summarise", "zone_counts"]

SHORT = {"values": "values", "missing": "missing", "concept": "label"}
"""What is compared, as short as the heading of a column has to be."""

SHOWN_COLUMNS = 3
"""Number of changed columns that are named in a row of a table."""


def zone_counts(points: Sequence[WindowPoint]) -> Counter[str]:
    """Number of windows in each zone."""
    counts: Counter[str] = Counter()
    for window in points:
        counts[window.zone] += window.n_windows
    return counts


def describe_state(timeline: Timeline) -> tuple[str, str]:
    """Zone of the latest window that could be judged, and a sentence about how long it has lasted.

    Examples
    --------
    >>> points = tuple(WindowPoint(n, zone, 0.5, 100) for n, zone in enumerate(["calm", "drift", "drift"]))
    >>> describe_state(Timeline("sales", points, 0.001, 0.01, 3))
    ('drift', 'Drift in the last 2 windows, since window 1.')
    >>> describe_state(Timeline("sales", (), 0.001, 0.01, 0))
    ('undetermined', 'No window has been decided yet.')
    """
    judged = [window for window in timeline.points if window.zone != "undetermined"]
    if not judged:
        words = "No window could be judged yet." if timeline.points else "No window has been decided yet."
        return "undetermined", words
    zone = judged[-1].zone
    run = list(takewhile(lambda window: window.zone == zone, reversed(judged)))
    first = run[-1]
    when = "" if first.start is None else f" ({first.start[:16].replace('T', ' ')} UTC)"
    if zone == "calm":
        calm = f"Calm for the last {format_count(len(run), 'window')}"
        return zone, f"{calm}." if len(run) == len(judged) else f"{calm}, since window {first.index}{when}."
    if len(run) == 1:
        return zone, f"{zone.capitalize()} in window {first.index}{when}, the latest."
    return zone, f"{zone.capitalize()} in the last {len(run):,} windows, since window {first.index}{when}."


def summarise(timeline: Timeline) -> str:
    """Timeline in one line: how many windows there are, and in which zones."""
    counts = zone_counts(timeline.points)
    zones = ", ".join(f"{count:,} {zone}" for zone, count in counts.items() if count)
    shown = sum(counts.values())
    which = "" if shown == timeline.n_windows else f"last {shown:,} of "
    return f"{timeline.name}: {which}{format_count(timeline.n_windows, 'window')}" + (f" ({zones})." if zones else ".")


def list_windows(timeline: Timeline) -> list[list[str]]:
    """Rows of a table for the terminal, the first one its heading."""
    head = ["window", "from" if any(window.start for window in timeline.points) else "rows", "zone"]
    sides = [words for side in timeline.sides for words in (f"p {SHORT[side]}", "effect")]
    rows = [[*head, *sides, "columns that changed"]]
    for window in timeline.points:
        names = [shorten(name, 24) for name in window.changed(timeline.alarm_at)]
        more = f" and {len(names) - SHOWN_COLUMNS} more" if len(names) > SHOWN_COLUMNS else ""
        facts = [words for side in timeline.sides for words in _side_facts(window, side)]
        rows.append([window.place, _where(window), window.zone, *facts, ", ".join(names[:SHOWN_COLUMNS]) + more])
    return rows


def _where(window: WindowPoint) -> str:
    if window.start is not None:
        return window.start[:16].replace("T", " ")
    return "none" if window.first_row is None else f"{window.first_row:,} to {window.last_row:,}"


def _side_facts(window: WindowPoint, side: str) -> tuple[str, str]:
    return _number(getattr(window, f"{side}_p")), _effect(getattr(window, f"{side}_effect"))


def _number(p_value: float | None) -> str:
    return "-" if p_value is None else format_p_number(p_value)


def _effect(effect: float | None) -> str:
    return "-" if effect is None else f"{effect:.2f}"
