"""Evidence that accumulates over windows: small changes that no single window shows add up until they are certain.

Windows, and blocks of 4, 16 and 64 of them, are compared with all that came before them. Where nothing changed, the
p-values of one length are independent and uniform, whatever rows the reference happens to hold, for what came before
is a part of the comparison. Each p-value is a bet against "nothing changed", and what the bets win is added up.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from gapdrift.counting.evidence import Evidence
from gapdrift.errors import GapdriftError, HistoryError
from gapdrift.storage import dumps, loads

__all__ = ["LENGTHS", "ChangePoint", "EvidenceProcess", "run_length"]

LENGTHS = (1, 4, 16, 64)
"""Numbers of windows that are compared together."""

SHIFTS = np.array([0.25, 0.5, 1.0, 2.0])
"""Changes that are bet on, in standard deviations of the score of one comparison."""

MOST = 1e100
"""Largest sum that is kept, far beyond any that decides anything."""

SUMS = np.array([0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0])
"""Sums of the process for which the mean number of windows is known."""

RUN_LENGTHS = {
    (1, 4, 16, 64): (3.2, 4.6, 7.8, 15.2, 26.8, 46.9, 101.2, 186.8, 363.6, 883.1, 1740.5, 3461.6),
    (1,): (1.4, 2.2, 3.8, 8.8, 16.8, 33.1, 81.7, 161.8, 320.2, 803.2, 1617.3, 3245.0),
}
"""Mean number of windows without drift until the process reaches each of these sums, by the lengths of its blocks.

From 4,000 simulated streams of Gaussian scores (standard errors 0.5 to 1.6 %). Beyond the last, they are proportional.
"""

Judge = Callable[[Evidence, Evidence | None], float | None]
"""p-value of some rows against the reference and the rows that came before; None if undetermined."""


@dataclass(frozen=True)
class ChangePoint:
    """Where a change is estimated to have begun: at the beginning of a window.

    Parameters
    ----------
    window : int
        Index of the window.
    row : int
        Position in the stream of its first row.
    time : int or None
        Its start, in microseconds since 1970, for windows of time.
    """

    window: int
    row: int
    time: int | None = None


@dataclass(frozen=True)
class Segment:
    """Evidence of consecutive windows.

    Parameters
    ----------
    first, stop : int
        Number of the first window, and of the window after the last one.
    begin : ChangePoint
        Where the first window begins.
    evidence : Evidence
    """

    first: int
    stop: int
    begin: ChangePoint
    evidence: Evidence


class EvidenceProcess:
    """Sum of what bets against "nothing changed" have won so far (an e-detector of Shiryaev and Roberts' kind).

    Parameters
    ----------
    lengths : sequence of int
        Numbers of consecutive windows that are compared together: `LENGTHS`, or (1,).

    Notes
    -----
    A comparison has the score z, the standard Gaussian quantile of 1 - p. A bet on the shift d multiplies what was
    staked by exp(d z - d^2 / 2), which is 1 on average where nothing changed. One unit is staked with every
    window: for blocks of L windows, R <- (R + L) exp(d z - d^2 / 2). The process is the mean of R over lengths and
    shifts. R - (windows so far) is a martingale where nothing changed, so that the mean number of windows until the
    process reaches c is the mean of the process there: c and a little more, which `run_length` knows.

    A bet whose likelihood ratio since some window is above 1 takes that window for the beginning of the change. Of
    these windows, the change is estimated to begin at the one from which on the p-value of all rows is the smallest;
    for a warning, at that of the bet that has won most.
    """

    def __init__(self, lengths: Sequence[int] = LENGTHS) -> None:
        self._lengths = tuple(lengths)
        if self._lengths not in RUN_LENGTHS:
            raise ValueError(f"no run lengths are known for blocks of {self._lengths} windows")
        self._taken = 0
        self._segments: list[Segment] = []
        self._packed: dict[str, bytes] = {}
        self._restart()

    def _restart(self) -> None:
        shape = len(self._lengths), len(SHIFTS)
        self._sums: NDArray[np.float64] = np.zeros(shape)
        self._ratios: NDArray[np.float64] = np.zeros(shape)
        self._starts: NDArray[np.int64] = np.full(shape, self._taken)
        self._opened = [self._taken] * len(self._lengths)

    @property
    def value(self) -> float:
        """Evidence, as the mean number of windows without drift until there is as much of it."""
        return run_length(float(self._sums.mean()), self._lengths)

    def update(self, begin: ChangePoint, evidence: Evidence, judge: Judge) -> None:
        """Take the next window.

        Parameters
        ----------
        begin : ChangePoint
            Where the window begins.
        evidence : Evidence
            Of its rows.
        judge : callable
            Returns the p-value of some evidence against the reference and the evidence of the windows before it.
        """
        self._segments.append(Segment(self._taken, self._taken + 1, begin, evidence))
        self._taken += 1
        for place, length in enumerate(self._lengths):
            if self._taken - self._opened[place] == length:
                self._bet(place, length, judge)
                self._opened[place] = self._taken
        self._join_segments()

    def _bet(self, place: int, length: int, judge: Judge) -> None:
        """Bet on the p-value of the block of windows that was opened last."""
        first = self._opened[place]
        p_value = judge(self.since(first), self.before(first))
        if p_value is None:
            return
        score = -float(ndtri(min(max(p_value, 1e-300), 1.0 - 1e-9)))
        gain = SHIFTS * score - SHIFTS**2 / 2.0
        self._sums[place] = np.minimum((self._sums[place] + length) * np.exp(gain), MOST)
        self._starts[place] = np.where(self._ratios[place] > 0.0, self._starts[place], first)
        self._ratios[place] = np.maximum(self._ratios[place], 0.0) + gain

    def change(self, judge: Judge | None = None) -> tuple[ChangePoint, Evidence, int]:
        """Estimated change, the evidence of the windows since then, and the number of the first of them.

        Parameters
        ----------
        judge : callable, optional
            Without it, the estimate is the beginning of the bet that has won most, which needs no further test.
        """
        above = self._ratios > 0.0
        likely = above if above.any() else self._starts < self._taken
        starts = sorted(set(self._starts[likely].tolist()))
        if judge is None:
            first = int(self._starts[likely][self._ratios[likely].argmax()])
        else:
            found = {first: judge(self.since(first), self.before(first)) for first in starts}
            # Of equal ones the last, since windows before the change do no more than dilute it.
            first = min(starts, key=lambda start: (1.0 if found[start] is None else found[start], -start))
        return self._since(first)[0].begin, self.since(first), first

    def since(self, first: int) -> Evidence:
        """Evidence of the windows from the one of this number on, where a bet or a block begins."""
        evidence = _add_up(self._since(first))
        assert evidence is not None  # what begins at or before the window that was taken last
        return evidence

    def before(self, first: int) -> Evidence | None:
        """Evidence of the windows before the one of this number; None if there are none."""
        return _add_up([segment for segment in self._segments if segment.first < first])

    def _since(self, first: int) -> list[Segment]:
        return [segment for segment in self._segments if segment.first >= first]

    def begin_anew(self, first: int | None = None) -> None:
        """Begin anew after an alarm.

        Parameters
        ----------
        first : int, optional
            Number of the first window that is no part of what later windows are compared with, as are all after it.
            None keeps all.
        """
        if first is not None:
            self._segments = [segment for segment in self._segments if segment.first < first]
        self._restart()
        self._join_segments()

    def _join_segments(self) -> None:
        """Add up windows between which neither a block nor a run of bets begins."""
        needed = {*self._opened, *self._starts.flat}
        joined: list[Segment] = []
        for segment in self._segments:
            if joined and segment.first not in needed:
                last = joined.pop()
                segment = Segment(last.first, segment.stop, last.begin, last.evidence + segment.evidence)  # noqa: PLW2901
            joined.append(segment)
        self._segments = joined

    def packed(self) -> dict[str, bytes]:
        """Parts from which `unpacked` continues; those whose names end in "closed" never change."""
        facts = {
            "lengths": self._lengths,
            "taken": self._taken,
            "sums": self._sums.tolist(),
            "ratios": self._ratios.tolist(),
            "starts": self._starts.tolist(),
            "opened": self._opened,
            "segments": [[s.first, s.stop, s.begin.window, s.begin.row, s.begin.time] for s in self._segments],
        }
        known, names = self._packed, [(_part_name(s.first, s.stop), s) for s in self._segments]
        self._packed = {name: known[name] if name in known else dumps(s.evidence) for name, s in names}
        return {"facts": json.dumps(facts).encode(), **self._packed}

    @classmethod
    def unpacked(cls, parts: Mapping[str, bytes]) -> "EvidenceProcess":
        """Process that continues from the parts of `packed`."""
        try:
            facts = json.loads(parts["facts"])
            process = cls(facts["lengths"])
            shape = process._sums.shape
            process._taken, process._opened = int(facts["taken"]), [int(first) for first in facts["opened"]]
            process._sums, process._ratios = (
                np.array(facts[name], dtype=float).reshape(shape) for name in ("sums", "ratios")
            )
            process._starts = np.array(facts["starts"], dtype=np.int64).reshape(shape)
            for first, stop, *begin in facts["segments"]:
                evidence = loads(parts[_part_name(first, stop)])
                if not isinstance(evidence, Evidence):
                    raise TypeError(f"expected evidence, got {type(evidence).__name__}")
                process._segments.append(Segment(first, stop, ChangePoint(*begin), evidence))
        except (KeyError, ValueError, TypeError, GapdriftError) as error:
            raise HistoryError("The stored evidence of the monitor cannot be read: the history is damaged.") from error
        return process


def run_length(total: float, lengths: Sequence[int] = LENGTHS) -> float:
    """Mean number of windows without drift until the process reaches a sum.

    Examples
    --------
    >>> run_length(500.0), run_length(50_000.0) / run_length(5_000.0)
    (883.1, 10.0)
    """
    known = np.array(RUN_LENGTHS[tuple(lengths)])
    ratio = np.interp(np.log(max(total, 1e-9)), np.log(SUMS), known / SUMS)
    return float(total * ratio)


def _part_name(first: int, stop: int) -> str:
    return f"segment/{first}-{stop}/closed"


def _add_up(segments: list[Segment]) -> Evidence | None:
    total: Evidence | None = None
    for segment in segments:
        total = segment.evidence if total is None else total + segment.evidence
    return total
