"""How the zone of a window is decided: by that window alone, or by the evidence that windows have accumulated."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from gapdrift.counting.evidence import Evidence
from gapdrift.detectors.base import Detector
from gapdrift.errors import GapdriftError, HistoryError
from gapdrift.results import DriftResult
from gapdrift.storage import dumps, loads
from gapdrift.streaming.sequential import LENGTHS, ChangePoint, EvidenceProcess
from gapdrift.tables.times import as_datetime

__all__ = ["CERTAIN", "Decider", "Decision", "make_decider"]

CERTAIN = 1e-3
"""A change is certain if the p-value of the rows since then is below this share of one in ``false_alarm_every``."""


@dataclass(frozen=True)
class Decision:
    """What was decided about a window; the fields are those of `WindowResult`."""

    zone: str
    result: DriftResult
    warnings: tuple[str, ...] = ()
    evidence: float | None = None
    change: ChangePoint | None = None
    since_change: DriftResult | None = None

    def facts(self) -> dict[str, Any]:
        """Fields of the window's result, without the warnings."""
        change = self.change
        return {
            "zone": self.zone,
            "result": self.result,
            "evidence": self.evidence,
            "change_window": None if change is None else change.window,
            "change_row": None if change is None else change.row,
            "change_time": None if change is None or change.time is None else as_datetime(change.time),
            "since_change": self.since_change,
        }


class Decider(Protocol):
    """Decides the zones of the windows of a stream, one after the other."""

    def decide(self, detector: Detector, begin: ChangePoint, evidence: Evidence) -> Decision:
        """Decision about the next window.

        Parameters
        ----------
        detector : Detector
        begin : ChangePoint
            Where the window begins.
        evidence : Evidence
            Of the rows of the window.
        """
        ...

    def restart(self) -> None:
        """Forget all windows, since there is a new reference."""
        ...

    def packed(self) -> dict[str, bytes]:
        """Parts from which `restore` continues."""
        ...

    def restore(self, parts: Mapping[str, bytes]) -> None:
        """Continue from the parts of `packed`."""
        ...


def make_decider(sequential: bool, false_alarm_every: float, warning_every: float, extend: int | None) -> Decider:
    """Decider of a monitor."""
    if sequential:
        return Accumulated(false_alarm_every, warning_every)
    return WindowByWindow(false_alarm_every, warning_every, extend)


class WindowByWindow:
    """Decides each window by itself, at a p-value of one over the number of windows per false alarm.

    Parameters
    ----------
    false_alarm_every, warning_every : float
    extend : int or None
        A calm window joins the reference once so many windows after it were calm, too; None means never.
    """

    def __init__(self, false_alarm_every: float, warning_every: float, extend: int | None) -> None:
        self._alarm, self._warning, self._extend = 1.0 / false_alarm_every, 1.0 / warning_every, extend
        self.restart()

    def restart(self) -> None:
        """Forget all windows, since there is a new reference."""
        self._joined: Evidence | None = None
        self._waiting: list[Evidence] = []
        self._extended: Detector | None = None

    def decide(self, detector: Detector, begin: ChangePoint, evidence: Evidence) -> Decision:  # noqa: ARG002
        """Decision about the next window."""
        if self._extended is None:
            self._extended = detector if self._joined is None else detector.extended(self._joined)
        decision = self._find_zone(self._extended, evidence)
        if self._extend is not None:
            self._join_confirmed(decision.zone, evidence)
        return decision

    def _find_zone(self, detector: Detector, evidence: Evidence) -> Decision:
        result = detector.test(evidence, alpha=self._alarm)
        if result.drift:
            return Decision("drift", result)
        if result.p_value < self._warning and detector.test(evidence, alpha=self._warning).drift:
            return Decision("warning", result)
        return Decision("undetermined" if result.drift is None else "calm", result)

    def _join_confirmed(self, zone: str, evidence: Evidence) -> None:
        """Add the window that was waiting longest to the reference, if those after it are calm."""
        if zone == "undetermined":
            return
        self._waiting = [*self._waiting, evidence] if zone == "calm" else []
        assert self._extend is not None  # otherwise no window joins
        if len(self._waiting) > self._extend:
            first, *self._waiting = self._waiting
            self._joined, self._extended = first if self._joined is None else self._joined + first, None

    def packed(self) -> dict[str, bytes]:
        """Parts from which `restore` continues."""
        parts = {f"waiting/{place:09}": dumps(evidence) for place, evidence in enumerate(self._waiting)}
        return parts if self._joined is None else parts | {"joined": dumps(self._joined)}

    def restore(self, parts: Mapping[str, bytes]) -> None:
        """Continue from the parts of `packed`."""
        self.restart()
        self._waiting = [_unpack(parts[name]) for name in sorted(parts) if name.startswith("waiting/")]
        self._joined = _unpack(parts["joined"]) if "joined" in parts else None


def _unpack(packed: bytes) -> Evidence:
    try:
        evidence = loads(packed)
    except GapdriftError as error:
        raise HistoryError("The stored state of the monitor cannot be read: the history is damaged.") from error
    if not isinstance(evidence, Evidence):
        raise HistoryError(f"The stored state holds a {type(evidence).__name__}, expected evidence.")
    return evidence


class Accumulated:
    """Decides by the evidence that windows have accumulated (`EvidenceProcess`).

    After an alarm the evidence begins anew. The windows since the estimated change are then no part of what later ones
    are compared with, if the change is certain. Those of a doubtful alarm stay: without them, what is left would lie on
    the other side, having been chosen, and raise the next false alarm too soon (one in 63 windows instead of 100).
    """

    def __init__(self, false_alarm_every: float, warning_every: float) -> None:
        self._alarm, self._warning = false_alarm_every, warning_every
        self._process = EvidenceProcess(LENGTHS)

    def decide(self, detector: Detector, begin: ChangePoint, evidence: Evidence) -> Decision:
        """Decision about the next window."""
        results: list[DriftResult] = []

        def judge(block: Evidence, before: Evidence | None) -> float | None:
            results.append(_compare(detector, block, before, 1.0 / self._alarm))
            return None if results[-1].drift is None else results[-1].p_value

        self._process.update(begin, evidence, judge)
        # Blocks of one window come first.
        result, value = results[0], self._process.value
        if value < self._warning:
            return Decision("undetermined" if result.drift is None else "calm", result, evidence=value)
        change, since, first = self._process.change(judge)
        found = _compare(detector, since, self._process.before(first))
        return self._decide_alarm(Decision("drift", result, (), value, change, found), first, detector)

    def _decide_alarm(self, alarm: Decision, first: int, detector: Detector) -> Decision:
        found, least = alarm.since_change, getattr(detector, "min_effect", 0.0)
        assert found is not None and alarm.evidence is not None  # it is an alarm
        largest = max((f.effect_size or 0.0 for f in (found.values, found.missingness) if f is not None), default=0.0)
        if largest < least:
            note = f"The evidence suffices, but the effect size {largest:.3g} is below min_effect {least:g}."
            return Decision("calm", alarm.result, (note,), alarm.evidence)
        if alarm.evidence < self._alarm:
            return replace(alarm, zone="warning")
        self._process.begin_anew(first if found.p_value < CERTAIN / self._alarm else None)
        return alarm

    def restart(self) -> None:
        """Forget all windows, since there is a new reference."""
        self._process.forget_all()

    def packed(self) -> dict[str, bytes]:
        """Parts from which `restore` continues."""
        return {f"sequential/{name}": data for name, data in self._process.packed().items()}

    def restore(self, parts: Mapping[str, bytes]) -> None:
        """Continue from the parts of `packed`."""
        own = {name.removeprefix("sequential/"): data for name, data in parts.items() if name.startswith("sequential/")}
        self._process = EvidenceProcess.unpacked(own, LENGTHS)


def _compare(detector: Detector, window: Evidence, before: Evidence | None, alpha: float | None = None) -> DriftResult:
    """Result of some rows against the reference and the rows that came before."""
    return (detector if before is None else detector.extended(before)).test(window, alpha=alpha)
