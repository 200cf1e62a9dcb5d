"""Two-sample tests on complete data, the paper's competitors: settings with ``fit(reference, rng, first=None)``.

What is fitted has ``test(window, rng)``, an `Outcome`, and ``p_value(window, rng)``, above 0 and at most 1.
"""

from experiments.baselines._seam import Baseline, FittedBaseline, Outcome, Rng
from experiments.baselines.friedman_rafsky import FriedmanRafsky
from experiments.baselines.mean_embedding import MeanEmbedding
from experiments.baselines.mmd import MMD
from experiments.baselines.quant_tree import QuantTree

__all__ = ["MMD", "Baseline", "FittedBaseline", "FriedmanRafsky", "MeanEmbedding", "Outcome", "QuantTree", "Rng"]
