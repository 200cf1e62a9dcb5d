"""evidently: the preset for data drift; each column by the default test for its kind and size, and its threshold.

Up to 1,000 rows numbers are compared by Kolmogorov and Smirnov at level 0.05, above by a Wasserstein distance of 0.1.
"""

import pandas as pd
from evidently import Report
from evidently.presets import DataDriftPreset
from protocol import Answer, serve


def drifted(reference: pd.DataFrame, window: pd.DataFrame) -> dict[str, float]:
    """Number and share of the columns that drift."""
    snapshot = Report([DataDriftPreset()]).run(window, reference)
    values = [metric["value"] for metric in snapshot.dict()["metrics"]]
    return next(value for value in values if isinstance(value, dict) and "share" in value)


def preset(reference: pd.DataFrame, window: pd.DataFrame, alpha: float, seed: int) -> Answer:
    found = drifted(reference, window)
    return Answer(found["share"] >= 0.5, details={"columns": found["count"]})


def any_column(reference: pd.DataFrame, window: pd.DataFrame, alpha: float, seed: int) -> Answer:
    found = drifted(reference, window)
    return Answer(found["count"] > 0, details={"columns": found["count"]})


serve({"DataDriftPreset": preset, "DataDriftPreset, any column": any_column})
