"""river: stream detectors, one for each column, which read the reference and then the window row by row.

An alarm is a detection at a row of the window, in any column. Their levels are those of single rows, not of a window,
so the defaults are kept. A detector is given one number after the other, so its second row leaves gaps out.
"""

from collections.abc import Callable
from typing import Any

import pandas as pd
from protocol import Answer, columns, present, serve
from river import drift


def per_column(make: Callable[[int], Any], entries: Callable[[Any], Any] = iter) -> Any:
    def test(reference: pd.DataFrame, window: pd.DataFrame, alpha: float, seed: int) -> Answer:
        pairs = columns(reference, window)
        alarms = [detected(make(seed), entries(before), entries(after)) for before, after in pairs]
        return Answer(any(alarms), details={"columns": sum(alarms)})

    return test


def detected(detector: Any, before: Any, after: Any) -> bool:
    for value in before:
        detector.update(float(value))
    for value in after:
        detector.update(float(value))
        if detector.drift_detected:
            return True
    return False


def adwin(_seed: int) -> Any:
    return drift.ADWIN()


def kswin(seed: int) -> Any:
    return drift.KSWIN(seed=seed)


serve(
    {
        "ADWIN": per_column(adwin),
        "ADWIN, gaps left out": per_column(adwin, present),
        "KSWIN": per_column(kswin),
        "KSWIN, gaps left out": per_column(kswin, present),
    }
)
