"""Whether windows differ from the windows just before them, as independent rows hardly ever make them.

A change makes windows differ from the reference, but from the window before only once. Rows that follow each other and
are alike, or windows with a level of their own, make windows differ from each other all the time.
"""

import json
from collections.abc import Mapping

from scipy.stats import binom

from gapdrift.counting.evidence import Evidence
from gapdrift.detectors.base import Detector
from gapdrift.errors import GapdriftError, HistoryError
from gapdrift.storage import dumps, loads

__all__ = ["NeighbourCheck"]

DIFFERENT = 0.01
"""p-value below which two windows are different."""

BY_CHANCE = 0.03
"""Share of such windows, at most, where rows are independent of each other: p-values of small windows are not exact."""

SURE = 1e-6
"""Probability of as many different windows by chance below which users are told."""

MAX_CHECKED = 100
"""Windows that are compared with the one before them, at most: what is clear shows in these."""


class NeighbourCheck:
    """Comparison of windows with the windows just before them.

    Parameters
    ----------
    every : int
        One in so many windows is looked at, so that no two of them share rows.
    """

    def __init__(self, every: int) -> None:
        self._every = every
        self._n_checked = self._n_different = 0
        self._before: Evidence | None = None

    @property
    def warning(self) -> str:
        """Sentence for the user where windows differ from each other clearly; empty otherwise."""
        if binom.sf(self._n_different - 1, self._n_checked, BY_CHANCE) >= SURE:
            return ""
        return (
            f"{self._n_different} of {self._n_checked} windows differ from the window just before them: rows that "
            "follow each other are alike, or each window has a level of its own, and alarms come much more often than "
            "asked for. Fit the detector on a history in batches about as long as a window, fit(history, batches=...), "
            "so that windows are compared with the usual variation between batches."
        )

    def look(self, index: int, detector: Detector, evidence: Evidence) -> None:
        """Compare a window with the one before it."""
        if index % self._every or self._n_checked >= MAX_CHECKED:
            return
        if self._before is not None:
            result = detector.compared_with(self._before).test(evidence, alpha=DIFFERENT)
            if result.drift is not None:
                self._n_checked += 1
                self._n_different += result.p_value < DIFFERENT
        self._before = evidence if self._n_checked < MAX_CHECKED and evidence.n_rows else None

    def forget(self) -> None:
        """Begin anew, since there is a new reference."""
        self._n_checked = self._n_different = 0
        self._before = None

    def packed(self) -> dict[str, bytes]:
        """Parts from which `restore` continues."""
        facts = {"neighbours/facts": json.dumps([self._n_checked, self._n_different]).encode()}
        return facts if self._before is None else facts | {"neighbours/before": dumps(self._before)}

    def restore(self, parts: Mapping[str, bytes]) -> None:
        """Continue from the parts of `packed`."""
        try:
            self._n_checked, self._n_different = json.loads(parts["neighbours/facts"])
            before = loads(parts["neighbours/before"]) if "neighbours/before" in parts else None
        except (KeyError, ValueError, TypeError, GapdriftError) as error:
            raise HistoryError("The stored state of the monitor cannot be read: the history is damaged.") from error
        if not isinstance(before, Evidence | None):
            raise HistoryError(f"The stored state holds a {type(before).__name__}, expected evidence.")
        self._before = before
