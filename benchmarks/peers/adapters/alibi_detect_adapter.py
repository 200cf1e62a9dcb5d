"""alibi-detect: KSDrift, MMDDrift (PyTorch) and ClassifierDrift with a model of scikit-learn that takes NaN."""

import numpy as np
import pandas as pd
from alibi_detect.cd import ClassifierDrift, KSDrift, MMDDrift
from protocol import Answer, numbers, serve
from sklearn.ensemble import HistGradientBoostingClassifier


def ks(reference: pd.DataFrame, window: pd.DataFrame, alpha: float, seed: int) -> Answer:
    found = KSDrift(numbers(reference), p_val=alpha).predict(numbers(window))["data"]
    return Answer(bool(found["is_drift"]), float(np.min(found["p_val"])))


def mmd(reference: pd.DataFrame, window: pd.DataFrame, alpha: float, seed: int) -> Answer:
    import torch  # noqa: PLC0415  (only this method needs it)

    torch.manual_seed(seed)
    detector = MMDDrift(numbers(reference).astype(np.float32), backend="pytorch", p_val=alpha, device="cpu")
    found = detector.predict(numbers(window).astype(np.float32))["data"]
    return Answer(bool(found["is_drift"]), float(found["p_val"]))


def classifier(reference: pd.DataFrame, window: pd.DataFrame, alpha: float, seed: int) -> Answer:
    model = HistGradientBoostingClassifier(random_state=seed)
    detector = ClassifierDrift(
        numbers(reference),
        model,
        backend="sklearn",
        p_val=alpha,
        n_folds=5,
        train_size=None,
        seed=seed,
        preds_type="probs",
    )
    found = detector.predict(numbers(window))["data"]
    return Answer(bool(found["is_drift"]), float(found["p_val"]))


serve({"KSDrift": ks, "MMDDrift": mmd, "ClassifierDrift": classifier})
