"""frouros: the Kolmogorov-Smirnov test of each column, Bonferroni by us, and MMD with 100 permutations on one job."""

import pandas as pd
from frouros.callbacks import PermutationTestDistanceBased
from frouros.detectors.data_drift import MMD, KSTest
from protocol import Answer, any_column, numbers, serve


def ks(reference: pd.DataFrame, window: pd.DataFrame, alpha: float, seed: int) -> Answer:
    p_values = []
    for before, after in zip(numbers(reference).T, numbers(window).T, strict=True):
        detector = KSTest()
        detector.fit(X=before)
        result, _ = detector.compare(X=after)
        p_values.append(float(result.p_value))
    return any_column(p_values, alpha)


def mmd(reference: pd.DataFrame, window: pd.DataFrame, alpha: float, seed: int) -> Answer:
    permutations = PermutationTestDistanceBased(
        num_permutations=100, num_jobs=1, random_state=seed, name="permutations"
    )
    detector = MMD(callbacks=[permutations])
    detector.fit(X=numbers(reference))
    distance, logs = detector.compare(X=numbers(window))
    p_value = float(logs["permutations"]["p_value"])
    return Answer(p_value < alpha, p_value, {"distance": float(distance.distance)})


serve({"KSTest": ks, "MMD": mmd})
