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
    """One known change, and what the monitor made of it.

    Parameters
    ----------
    row : int
        First row after the change.
    window : int or None
        Index of the first drift window with rows of this change; None where it was missed.
    delay_rows : int or None
        Rows taken from the change until that window was decided.
    delay_windows : int or None
        Windows with rows of this change up to that one, itself included: 1 is at once.
    alarms : int
        Drift windows of this change, the first included.

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
        """Whether no drift window came before the next change, or the end."""
        return self.window is None


@dataclass(frozen=True)
class StreamEvaluation:
    """Delay and false alarms of one stream.

    Parameters
    ----------
    changes : tuple of ChangeFound
    calm_windows : int
        Windows whose rows all came before the first change.
    false_alarms : int
        Those in the drift zone.

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
        """False alarms for each window before the first change; 0 where there is none."""
        return self.false_alarms / self.calm_windows if self.calm_windows else 0.0

    @property
    def missed(self) -> int:
        """Changes that were not found."""
        return sum(change.missed for change in self.changes)

    @property
    def mean_delay_rows(self) -> float | None:
        """Mean delay of the changes found, in rows; None where none was."""
        delays = [change.delay_rows for change in self.changes if change.delay_rows is not None]
        return sum(delays) / len(delays) if delays else None


def evaluate_stream(windows: Iterable[WindowResult], change_points: Sequence[int]) -> StreamEvaluation:
    """Delay and false alarms of a monitor on a stream whose changes are known.

    Parameters
    ----------
    windows : iterable of WindowResult
        All windows decided, calm ones included: what `Monitor.advance` returned.
    change_points : sequence of int
        Positions in the stream, from 0 and rising, of the first row after each change.

    Notes
    -----
    A window belongs to the last change that its last row has seen. A drift window of a change finds it; later ones are
    repeats, not false alarms. A drift window whose rows all came before the first change is a false alarm.
    Windows without rows are left out.

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
    if any(two <= one for one, two in pairwise(points)):
        raise ParameterError(f"change_points is {list(change_points)!r}, expected rising positions.")
    groups: list[list[WindowResult]] = [[] for _ in range(len(points) + 1)]
    for window in windows:
        if window.last_row is not None:
            groups[sum(point <= window.last_row for point in points)].append(window)
    false_alarms = sum(window.zone == "drift" for window in groups[0])
    changes = tuple(_find(point, group) for point, group in zip(points, groups[1:], strict=True))
    return StreamEvaluation(changes, len(groups[0]), false_alarms)


def _find(point: int, windows: list[WindowResult]) -> ChangeFound:
    hits = [place for place, window in enumerate(windows) if window.zone == "drift"]
    if not hits:
        return ChangeFound(point, None, None, None, 0)
    first = windows[hits[0]]
    return ChangeFound(point, first.index, first.decided_at - point, hits[0] + 1, len(hits))
