"""gapdrift: `DriftDetector` by default; the p-values of values and missingness are told beside the verdict."""

import pandas as pd
from protocol import Answer, serve

import gapdrift as gd


def detector(reference: pd.DataFrame, window: pd.DataFrame, alpha: float, seed: int) -> Answer:
    result = gd.DriftDetector(alpha=alpha, random_state=seed).fit(reference).test(window)
    gaps = result.missingness.p_value if result.missingness else None
    details = {"values": result.values.p_value, "missingness": gaps}
    return Answer(result.drift, result.p_value, details)


serve({"DriftDetector": detector})
