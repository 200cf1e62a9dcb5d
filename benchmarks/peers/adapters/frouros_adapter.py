"""frouros: the Kolmogorov-Smirnov test of each column, Bonferroni by us, and MMD with 100 permutations on one job.

The test is called column by column, so its second row leaves the gaps of each column out.
"""

import numpy as np
import pandas as pd
from frouros.callbacks import PermutationTestDistanceBased
from frouros.detectors.data_drift import MMD, KSTest
from protocol import Answer, any_column, columns, numbers, present, serve


def ks(reference: pd.DataFrame, window: pd.DataFrame, alpha: float, seed: int) -> Answer:
    return any_column([p_value(before, after) for before, after in columns(reference, window)], alpha)


def ks_left_out(reference: pd.DataFrame, window: pd.DataFrame, alpha: float, seed: int) -> Answer:
    found = [(present(before), present(after)) for before, after in columns(reference, window)]
    p_values = [p_value(before, after) if len(before) and len(after) else np.nan for before, after in found]
    return any_column(p_values, alpha)


def p_value(before: np.ndarray, after: np.ndarray) -> float:
    detector = KSTest()
    detector.fit(X=before)
    result, _ = detector.compare(X=after)
    return float(result.p_value)


def mmd(reference: pd.DataFrame, window: pd.DataFrame, alpha: float, seed: int) -> Answer:
    permutations = PermutationTestDistanceBased(
        num_permutations=100, num_jobs=1, random_state=seed, name="permutations"
    )
    detector = MMD(callbacks=[permutations])
    detector.fit(X=numbers(reference))
    distance, logs = detector.compare(X=numbers(window))
    found = float(logs["permutations"]["p_value"])
    return Answer(found < alpha, found, {"distance": float(distance.distance)})


serve({"KSTest": ks, "KSTest, gaps left out": ks_left_out, "MMD": mmd})
