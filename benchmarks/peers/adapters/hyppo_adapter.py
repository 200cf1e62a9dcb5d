"""hyppo: k-sample tests with their fast chi-squared approximation (`auto=True`), without permutations."""

from typing import Any

import pandas as pd
from hyppo.ksample import MMD, KSample
from protocol import Answer, numbers, serve


def two_samples(make: Any) -> Any:
    def test(reference: pd.DataFrame, window: pd.DataFrame, alpha: float, seed: int) -> Answer:
        result = make().test(numbers(reference), numbers(window), workers=1, auto=True, random_state=seed)
        p_value = float(result[1])
        return Answer(p_value < alpha, p_value)

    return test


serve({"MMD": two_samples(MMD), "KSample Dcorr": two_samples(lambda: KSample("Dcorr"))})
