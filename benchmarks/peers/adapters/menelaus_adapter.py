"""menelaus: HDDDM, which averages distances of the columns' histograms, and kdq-trees, in their forms for batches."""

import numpy as np
import pandas as pd
from menelaus.data_drift import HDDDM, KdqTreeBatch
from protocol import Answer, numbers, serve


def run(detector: HDDDM | KdqTreeBatch, reference: pd.DataFrame, window: pd.DataFrame, seed: int) -> Answer:
    np.random.seed(seed)  # noqa: NPY002  (what its bootstrap draws from)
    names = list(reference.columns)
    detector.set_reference(pd.DataFrame(numbers(reference), columns=names))
    detector.update(pd.DataFrame(numbers(window), columns=names))
    return Answer(detector.drift_state == "drift")


def hdddm(reference: pd.DataFrame, window: pd.DataFrame, alpha: float, seed: int) -> Answer:
    return run(HDDDM(detect_batch=1, significance=alpha), reference, window, seed)


def kdq_tree(reference: pd.DataFrame, window: pd.DataFrame, alpha: float, seed: int) -> Answer:
    return run(KdqTreeBatch(alpha=alpha), reference, window, seed)


serve({"HDDDM": hdddm, "KdqTreeBatch": kdq_tree})
