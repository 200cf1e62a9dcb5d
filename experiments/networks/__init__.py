"""Imputation by networks trained with PyTorch: scikit-learn-shaped ``fit`` and ``transform``, NaN where missing."""

from experiments.networks.gain import GAIN
from experiments.networks.midas import MIDAS

__all__ = ["GAIN", "MIDAS"]
