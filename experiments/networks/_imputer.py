"""What the networks share: checks, min-max scaling, and putting imputed cells into rows."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin

from gapdrift._random import RandomState, as_rng, draw_seed
from gapdrift._typing import Matrix
from gapdrift.errors import InputError, NotFittedError

__all__ = ["NetworkImputer", "Scale"]


class Scale(NamedTuple):
    """Lowest value and range of each column of the rows that were fitted; the range of a constant column is 0."""

    lowest: Matrix
    ranges: Matrix

    @classmethod
    def of(cls, values: Matrix) -> "Scale":
        """Scale of rows, each column of which has at least one value."""
        lowest = np.nanmin(values, axis=0)
        return cls(lowest, np.nanmax(values, axis=0) - lowest)

    def to_unit(self, values: Matrix) -> Matrix:
        """Columns scaled to the range from 0 to 1; missing values stay missing."""
        return (values - self.lowest) / np.where(self.ranges > 0, self.ranges, 1.0)

    def back(self, unit: Matrix) -> Matrix:
        """Columns in their own units."""
        return self.lowest + unit * self.ranges


class NetworkImputer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """An imputer whose network sees columns scaled to 0..1 by the rows it was fitted on.

    A subclass trains in ``_train(unit, seed)`` and imputes in ``_predict(network, unit)``, both with NaN for missing.
    """

    random_state: RandomState

    def fit(self, X: ArrayLike, y: None = None) -> Self:  # noqa: ARG002
        """Train the network on rows with NaN for missing, complete or not."""
        values = _as_rows(X)
        empty = np.flatnonzero(np.isnan(values).all(axis=0))
        if not len(values) or len(empty):
            raise InputError(f"Columns {empty.tolist()} have no value; drop them: there is nothing to learn from.")
        scale = Scale.of(values)
        network = self._train(scale.to_unit(values), draw_seed(as_rng(self.random_state)))
        self.scale_, self.network_ = scale, network
        return self

    def transform(self, X: ArrayLike) -> Matrix:
        """Rows with their missing values filled; observed values stay unchanged.

        A row's imputation depends on the row and the fitted network only.
        """
        if not hasattr(self, "network_"):
            raise NotFittedError(f"This {type(self).__name__} is not trained yet: call fit(rows) first.")
        values = _as_rows(X, n_columns=len(self.scale_.lowest))
        imputed = self.scale_.back(self._predict(self.network_, self.scale_.to_unit(values)))
        return np.where(np.isnan(values), imputed, values)

    def _train(self, unit: Matrix, seed: int) -> Any:
        raise NotImplementedError

    def _predict(self, network: Any, unit: Matrix) -> Matrix:
        raise NotImplementedError


def _as_rows(X: ArrayLike, n_columns: int | None = None) -> Matrix:
    try:
        values = np.asarray(X, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError("The rows hold values that are not numbers; encode them first.") from error
    if values.ndim != 2 or not values.shape[1] or np.isinf(values).any():
        raise InputError(f"The rows have the shape {values.shape}, expected a matrix of finite numbers and NaN.")
    if n_columns is not None and values.shape[1] != n_columns:
        raise InputError(f"The rows have {values.shape[1]} columns, the network was trained on {n_columns}.")
    return values
