"""How soon a monitor finds known changes, and how often it raises a false alarm before them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gapdrift._validation import check_count
from gapdrift.errors import ParameterError
from gapdrift.streaming.windows import WindowResult

__all__ = ["ChangeFound", "StreamEvaluation", "evaluate_stream"]


@dataclass(frozen=True)
class ChangeFound:
    """One known change, and when the monitor found it.

    Parameters
    ----------
    row : int
        First row after the change.
    window : int or None
        Index of the first window in the drift zone that belongs to this change; None if it was missed.
    delay_rows : int or None
        Number of rows from the change until that window was decided.
    delay_windows : int or None
        Number of windows from the change up to and including that one; 1 if the first of them found it.
    alarms : int
        Number of windows in the drift zone that belong to this change, including the first.

    Examples
    --------
    >>> ChangeFound(5_000, None, None, None, 0).missed
    True
    """

    row: int
    window: int | None
    delay_rows: int | None
    delay_windows: int | None
    alarms: int

    @property
    def missed(self) -> bool:
        """Whether no window was in the drift zone before the next change or the end of the stream."""
        return self.window is None


@dataclass(frozen=True)
class StreamEvaluation:
    """Delays and false alarms of a monitor on one stream.

    Parameters
    ----------
    changes : tuple of ChangeFound
    calm_windows : int
        Number of windows whose rows all came before the first change.
    false_alarms : int
        Number of these windows that are in the drift zone.

    Examples
    --------
    >>> StreamEvaluation((), 200, 1).false_alarm_rate
    0.005
    """

    changes: tuple[ChangeFound, ...]
    calm_windows: int
    false_alarms: int

    @property
    def false_alarm_rate(self) -> float:
        """Share of the windows before the first change that raised a false alarm; 0 without such windows."""
        return self.false_alarms / self.calm_windows if self.calm_windows else 0.0

    @property
    def missed(self) -> int:
        """Number of changes that were not found."""
        return sum(change.missed for change in self.changes)

    @property
    def mean_delay_rows(self) -> float | None:
        """Mean delay, in rows, of the changes that were found; None if none was."""
        delays = [change.delay_rows for change in self.changes if change.delay_rows is not None]
        return sum(delays) / len(delays) if delays else None


def evaluate_stream(windows: Iterable[WindowResult], change_points: Sequence[int]) -> StreamEvaluation:
    """Delays and false alarms of a monitor on a stream whose changes are known.

    Parameters
    ----------
    windows : iterable of WindowResult
        All windows that were decided, including calm ones, as `Monitor.advance` returns them.
    change_points : sequence of int
        Position in the stream of the first row after each change, counted from 0, in rising order.

    Notes
    -----
    A window belongs to the last change before its last row. The first window in the drift zone that belongs to a change
    finds it; later ones are repeats, not false alarms. Such a window before the first change is a false alarm. Windows
    without rows are left out.

    Examples
    --------
    >>> import gapdrift as gd
    >>> windows = [
    ...     gd.WindowResult(i, zone, None, 100, first_row=100 * i, last_row=100 * i + 99, decided_at=100 * i + 100)
    ...     for i, zone in enumerate(["calm", "drift", "calm", "calm", "drift"])
    ... ]
    >>> evaluation = gd.evaluate_stream(windows, [320])
    >>> evaluation.changes
    (ChangeFound(row=320, window=4, delay_rows=180, delay_windows=2, alarms=1),)
    >>> evaluation.false_alarms, evaluation.calm_windows
    (1, 3)
    """
    points = [check_count("change_points", point, 0) or 0 for point in change_points]
    if any(later <= earlier for earlier, later in pairwise(points)):
        raise ParameterError(f"change_points is {list(change_points)!r}, expected rising positions.")
    groups: list[list[WindowResult]] = [[] for _ in range(len(points) + 1)]
    for window in windows:
        if window.last_row is not None:
            groups[sum(point <= window.last_row for point in points)].append(window)
    false_alarms = sum(window.zone == "drift" for window in groups[0])
    changes = tuple(_find_change(point, group) for point, group in zip(points, groups[1:], strict=True))
    return StreamEvaluation(changes, len(groups[0]), false_alarms)


def _find_change(point: int, windows: list[WindowResult]) -> ChangeFound:
    alarms = [place for place, window in enumerate(windows) if window.zone == "drift"]
    if not alarms:
        return ChangeFound(point, None, None, None, 0)
    first = windows[alarms[0]]
    return ChangeFound(point, first.index, first.decided_at - point, alarms[0] + 1, len(alarms))
