"""MIDAS: imputation by a denoising autoencoder (Gondara and Wang 2018; Lall and Robinson 2022)."""

from typing import NamedTuple

import numpy as np

from experiments.networks._dense import Layer, forward, kept, layers, parameters, run, torch_on_one_thread
from experiments.networks._imputer import NetworkImputer
from gapdrift._random import RandomState
from gapdrift._typing import Matrix
from gapdrift._validation import check_count, check_share

__all__ = ["MIDAS"]


class _Autoencoder(NamedTuple):
    """Means that replace missing values, and the layers."""

    means: Matrix
    network: tuple[Layer, ...]


class MIDAS(NetworkImputer):
    """Imputation by an overcomplete autoencoder, which learns to restore cells that were hidden from it.

    Parameters
    ----------
    epochs : int, default=500
        Gondara and Wang's number.
    corruption : float, default=0.5
        Share of the known cells hidden in each batch (theirs).
    growth : int, default=7
        Units by which each of three layers is wider than the one before; three more narrow down again (theirs).
    batch_size : int, default=64
    learning_rate : float, default=0.001
        Of Adam, in place of their Nesterov momentum.
    random_state : int, Generator, RandomState or None, default=None

    Notes
    -----
    Hidden and missing cells hold the column's mean. The loss is the squared error of known cells alone (Lall and
    Robinson). The papers draw several imputations by repeating the corruption; here nothing is hidden after training,
    so that the imputation is one function of the row.

    Examples
    --------
    >>> import numpy as np
    >>> from gapdrift.errors import NotFittedError
    >>> try:
    ...     MIDAS(epochs=10).transform(np.zeros((2, 2)))
    ... except NotFittedError as error:
    ...     print(error)
    This MIDAS is not trained yet: call fit(rows) first.
    """

    def __init__(
        self,
        *,
        epochs: int = 500,
        corruption: float = 0.5,
        growth: int = 7,
        batch_size: int = 64,
        learning_rate: float = 0.001,
        random_state: RandomState = None,
    ) -> None:
        self.epochs = epochs
        self.corruption = corruption
        self.growth = growth
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.random_state = random_state

    def _check(self) -> None:
        check_count("epochs", self.epochs, 1)
        check_share("corruption", self.corruption)
        check_count("growth", self.growth, 0)
        check_count("batch_size", self.batch_size, 1)
        check_share("learning_rate", self.learning_rate)

    def _train(self, unit: Matrix, seed: int) -> _Autoencoder:
        self._check()
        n_rows, n_columns = unit.shape
        means = np.nanmean(unit, axis=0)
        sizes = [n_columns + self.growth * wider for wider in (0, 1, 2, 3, 2, 1, 0)]
        with torch_on_one_thread() as torch:
            generator = torch.Generator().manual_seed(seed)
            network = layers(torch, sizes, generator)
            step = torch.optim.Adam(parameters(network), lr=self.learning_rate, fused=True)
            known = torch.tensor(~np.isnan(unit), dtype=torch.float32)
            rows = torch.tensor(np.nan_to_num(unit - means), dtype=torch.float32)
            for _ in range(self.epochs):
                for batch in torch.randperm(n_rows, generator=generator).split(self.batch_size):
                    shown = (torch.rand(rows[batch].shape, generator=generator) >= self.corruption).float()
                    restored = forward(network, rows[batch] * shown, torch.tanh)
                    error = known[batch] * (restored - rows[batch]) ** 2
                    step.zero_grad(set_to_none=True)
                    error.mean().backward()
                    step.step()
            return _Autoencoder(means, kept(network))

    def _predict(self, network: _Autoencoder, unit: Matrix) -> Matrix:
        shown = np.nan_to_num(unit - network.means)
        return network.means + run(network.network, shown, np.tanh)
