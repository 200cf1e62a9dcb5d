"""river: stream detectors, one for each column, which read the reference and then the window row by row.

An alarm is a detection at a row of the window, in any column. Their levels are those of single rows, not of a window,
so the defaults are kept.
"""

from collections.abc import Callable
from typing import Any

import pandas as pd
from protocol import Answer, numbers, serve
from river import drift


def per_column(make: Callable[[int], Any]) -> Any:
    def test(reference: pd.DataFrame, window: pd.DataFrame, alpha: float, seed: int) -> Answer:
        columns = zip(numbers(reference).T, numbers(window).T, strict=True)
        alarms = [detected(make(seed), before, after) for before, after in columns]
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


serve({"ADWIN": per_column(lambda seed: drift.ADWIN()), "KSWIN": per_column(lambda seed: drift.KSWIN(seed=seed))})
