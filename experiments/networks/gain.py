"""GAIN: generative adversarial imputation nets (Yoon, Jordon and van der Schaar 2018)."""

from typing import Any

import numpy as np
from scipy.special import expit

from experiments.networks._dense import Layer, forward, kept, layers, parameters, run, torch_on_one_thread
from experiments.networks._imputer import NetworkImputer
from gapdrift._random import RandomState
from gapdrift._typing import Matrix
from gapdrift._validation import check_count, check_nonnegative, check_share

__all__ = ["GAIN"]

NOISE = 0.01
"""Cells that are missing hold uniform noise from 0 to this while training, and its mean afterwards."""


class GAIN(NetworkImputer):
    """Imputation by a generator, trained against a discriminator that guesses which cells were imputed.

    Parameters
    ----------
    iterations : int, default=10_000
        Batches, each a step of the discriminator and one of the generator (authors' default).
    batch_size : int, default=128
        Authors' default; at most the number of rows.
    hint_rate : float, default=0.9
        Share of the cells for which the discriminator is told whether they were missing (authors' default).
    alpha : float, default=100
        Weight of the squared error of known cells in the generator's loss (authors' default).
    hidden : int or None, default=None
        Width of the two hidden layers. None means the number of columns, as in the authors' code. Wide layers copy the
        observed cells without learning how columns depend on each other, and impute worse than the mean.
    learning_rate : float, default=0.001
        Of Adam (authors' default).
    random_state : int, Generator, RandomState or None, default=None

    Notes
    -----
    The noise in missing cells makes the network's output random; after training its mean takes its place, so that the
    imputation is a function of the row. Integers are not rounded.

    Examples
    --------
    >>> import numpy as np
    >>> from gapdrift.errors import NotFittedError
    >>> try:
    ...     GAIN(iterations=100).transform(np.zeros((2, 2)))
    ... except NotFittedError as error:
    ...     print(error)
    This GAIN is not trained yet: call fit(rows) first.
    """

    def __init__(
        self,
        *,
        iterations: int = 10_000,
        batch_size: int = 128,
        hint_rate: float = 0.9,
        alpha: float = 100.0,
        hidden: int | None = None,
        learning_rate: float = 0.001,
        random_state: RandomState = None,
    ) -> None:
        self.iterations = iterations
        self.batch_size = batch_size
        self.hint_rate = hint_rate
        self.alpha = alpha
        self.hidden = hidden
        self.learning_rate = learning_rate
        self.random_state = random_state

    def _check(self) -> None:
        check_count("iterations", self.iterations, 1)
        check_count("batch_size", self.batch_size, 1)
        check_share("hint_rate", self.hint_rate)
        check_nonnegative("alpha", self.alpha)
        check_count("hidden", self.hidden, 1, optional=True)
        check_share("learning_rate", self.learning_rate)

    def _train(self, unit: Matrix, seed: int) -> tuple[Layer, ...]:
        self._check()
        n_rows, n_columns = unit.shape
        hidden = n_columns if self.hidden is None else self.hidden
        with torch_on_one_thread() as torch:
            generator = torch.Generator().manual_seed(seed)
            sizes = (2 * n_columns, hidden, hidden, n_columns)
            imputer, judge = layers(torch, sizes, generator), layers(torch, sizes, generator)
            steps = [
                torch.optim.Adam(parameters(network), lr=self.learning_rate, fused=True) for network in (judge, imputer)
            ]
            known = torch.tensor(~np.isnan(unit))
            rows = torch.tensor(np.nan_to_num(unit), dtype=torch.float32)
            for _ in range(self.iterations):
                batch = torch.randperm(n_rows, generator=generator)[: self.batch_size]
                self._step(torch, rows[batch], known[batch], imputer, judge, steps, generator)
            return kept(imputer)

    def _step(
        self,
        torch: Any,
        rows: Any,
        known: Any,
        imputer: list[Layer],
        judge: list[Layer],
        steps: list[Any],
        generator: Any,
    ) -> None:
        functional, mask = torch.nn.functional, known.float()
        noise = torch.rand(rows.shape, generator=generator) * NOISE
        told = torch.rand(rows.shape, generator=generator) < self.hint_rate
        # Paper, Eq. (3): cells whose origin is not told have the hint 1/2.
        hint = torch.where(told, mask, 0.5)
        seen = torch.where(known, rows, noise)

        def belief(imputed: Any) -> Any:
            filled = torch.where(known, rows, imputed)
            return forward(judge, torch.cat([filled, hint], dim=1), torch.relu)

        imputed = torch.sigmoid(forward(imputer, torch.cat([seen, mask], dim=1), torch.relu))
        _descend(steps[0], functional.binary_cross_entropy_with_logits(belief(imputed.detach()), mask))
        error = (mask * (rows - imputed) ** 2).mean() / mask.mean().clamp(min=1e-8)
        deceit = ((1 - mask) * functional.softplus(-belief(imputed))).mean()
        _descend(steps[1], deceit + self.alpha * error)

    def _predict(self, network: tuple[Layer, ...], unit: Matrix) -> Matrix:
        missing = np.isnan(unit)
        seen = np.where(missing, NOISE / 2, unit)
        outputs = run(network, np.hstack([seen, (~missing).astype(float)]), lambda rows: np.maximum(rows, 0.0))
        return np.asarray(expit(outputs))


def _descend(step: Any, loss: Any) -> None:
    step.zero_grad(set_to_none=True)
    loss.backward()
    step.step()
