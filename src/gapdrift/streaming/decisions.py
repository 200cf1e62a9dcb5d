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

__all__ = ["CERTAIN", "Decider", "Decision", "is_of_batches", "make_decider"]

MAX_BATCHES = 200
"""Windows that join the batches of a reference, at most: the last ones."""

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
        self._baseline = Baseline()
        self._waiting: list[Evidence] = []

    def decide(self, detector: Detector, begin: ChangePoint, evidence: Evidence) -> Decision:  # noqa: ARG002
        """Decision about the next window."""
        decision = self._find_zone(self._baseline.joined_to(detector), evidence)
        if self._extend is not None and decision.zone != "undetermined":
            self._waiting = [*self._waiting, evidence] if decision.zone == "calm" else []
            if len(self._waiting) > self._extend:
                first, *self._waiting = self._waiting
                self._baseline.add(detector, first)
        return decision

    def _find_zone(self, detector: Detector, evidence: Evidence) -> Decision:
        result = detector.test(evidence, alpha=self._alarm)
        if result.drift:
            return Decision("drift", result)
        if result.p_value < self._warning and detector.test(evidence, alpha=self._warning).drift:
            return Decision("warning", result)
        return Decision("undetermined" if result.drift is None else "calm", result)

    def packed(self) -> dict[str, bytes]:
        """Parts from which `restore` continues."""
        waiting = {f"waiting/{place:09}": dumps(evidence) for place, evidence in enumerate(self._waiting)}
        return waiting | self._baseline.packed()

    def restore(self, parts: Mapping[str, bytes]) -> None:
        """Continue from the parts of `packed`."""
        self._baseline = Baseline.unpacked(parts)
        self._waiting = [_unpack(parts[name]) for name in sorted(parts) if name.startswith("waiting/")]


class Baseline:
    """Windows that have joined the reference: their sum or, for a reference of batches, the last of them one by one."""

    def __init__(self) -> None:
        self._parts: dict[int, Evidence] = {}
        self._n_joined = 0
        self._packed: dict[str, bytes] = {}
        self._joined: tuple[Detector, Detector] | None = None

    def add(self, detector: Detector, evidence: Evidence) -> None:
        """Let a window join."""
        self._n_joined += 1
        if not is_of_batches(detector):
            total = next(iter(self._parts.values()), None)
            self._parts, self._joined = {self._n_joined: evidence if total is None else total + evidence}, None
            return
        # With one more batch, those before need not be looked at again, unless the first of them is left out.
        before = self.joined_to(detector)
        self._parts[self._n_joined] = evidence
        dropped = self._parts.pop(self._n_joined - MAX_BATCHES, None)
        self._joined = (detector, _extend(before, [evidence])) if dropped is None else None

    def joined_to(self, detector: Detector) -> Detector:
        """The detector with the windows that have joined."""
        if not self._parts:
            return detector
        if self._joined is None or self._joined[0] is not detector:
            self._joined = detector, _extend(detector, list(self._parts.values()))
        return self._joined[1]

    def packed(self) -> dict[str, bytes]:
        """Parts from which `unpacked` continues; they never change."""
        known, names = self._packed, [(f"joined/{number:09}/closed", part) for number, part in self._parts.items()]
        self._packed = {name: known[name] if name in known else dumps(part) for name, part in names}
        return self._packed

    @classmethod
    def unpacked(cls, parts: Mapping[str, bytes]) -> "Baseline":
        """Windows from the parts of `packed`."""
        baseline = cls()
        for name in sorted(parts):
            if name.startswith("joined/"):
                baseline._n_joined = int(name.split("/")[1])
                baseline._parts[baseline._n_joined] = _unpack(parts[name])
        return baseline


def is_of_batches(detector: Detector) -> bool:
    """Whether a detector compares windows with the usual variation between batches of its reference."""
    return getattr(detector, "usual_", None) is not None


def _extend(detector: Detector, windows: list[Evidence]) -> Detector:
    if not is_of_batches(detector):
        return detector.extended(windows[0])
    extended: Any = detector
    for window in windows:
        # One by one, as they came: sums in another order differ in their last digits.
        extended = extended.with_batches([window])
    joined: Detector = extended
    return joined


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
        self._process: EvidenceProcess | None = None
        self._batches = Baseline()

    def decide(self, detector: Detector, begin: ChangePoint, evidence: Evidence) -> Decision:
        """Decision about the next window."""
        if self._process is None:
            self._process = EvidenceProcess(_lengths(detector))
        results: list[DriftResult] = []

        def judge(block: Evidence, before: Evidence | None) -> float | None:
            results.append(self._compare(detector, block, before, 1.0 / self._alarm))
            return None if results[-1].drift is None else results[-1].p_value

        self._process.update(begin, evidence, judge)
        # Blocks of one window come first.
        decision = Decision("undetermined" if results[0].drift is None else "calm", results[0], (), self._process.value)
        if self._process.value >= self._warning:
            # Several tests for an alarm are worth their time; those of all windows of a long warning are not.
            change, since, first = self._process.change(judge if self._process.value >= self._alarm else None)
            found = self._compare(detector, since, self._process.before(first))
            decision = self._decide_alarm(
                replace(decision, zone="drift", change=change, since_change=found), first, detector, self._process
            )
        if is_of_batches(detector) and decision.zone in {"calm", "warning"}:
            self._batches.add(detector, evidence)
        return decision

    def _compare(
        self, detector: Detector, window: Evidence, before: Evidence | None, alpha: float | None = None
    ) -> DriftResult:
        """Result of some rows against the reference and the windows that came before."""
        if is_of_batches(detector):
            return self._batches.joined_to(detector).test(window, alpha=alpha)
        return (detector if before is None else detector.extended(before)).test(window, alpha=alpha)

    def _decide_alarm(self, alarm: Decision, first: int, detector: Detector, process: EvidenceProcess) -> Decision:
        found, least = alarm.since_change, getattr(detector, "min_effect", 0.0)
        assert found is not None and alarm.evidence is not None  # it is an alarm
        largest = max(
            (f.effect_size or 0.0 for f in (found.values, found.concept, found.missingness) if f is not None),
            default=0.0,
        )
        if largest < least:
            note = f"The evidence suffices, but the effect size {largest:.3g} is below min_effect {least:g}."
            return Decision("calm", alarm.result, (note,), alarm.evidence)
        if alarm.evidence < self._alarm:
            return replace(alarm, zone="warning")
        process.begin_anew(first if found.p_value < CERTAIN / self._alarm else None)
        return alarm

    def restart(self) -> None:
        """Forget all windows, since there is a new reference."""
        self._process, self._batches = None, Baseline()

    def packed(self) -> dict[str, bytes]:
        """Parts from which `restore` continues."""
        own = {} if self._process is None else self._process.packed()
        return {f"sequential/{name}": data for name, data in own.items()} | self._batches.packed()

    def restore(self, parts: Mapping[str, bytes]) -> None:
        """Continue from the parts of `packed`."""
        own = {name.removeprefix("sequential/"): data for name, data in parts.items() if name.startswith("sequential/")}
        self._process = EvidenceProcess.unpacked(own) if own else None
        self._batches = Baseline.unpacked(parts)


def _lengths(detector: Detector) -> tuple[int, ...]:
    """Lengths of the blocks that are compared: batches vary by themselves, so that blocks of several are no batches."""
    return (1,) if is_of_batches(detector) else LENGTHS
