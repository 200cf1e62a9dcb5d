"""Random generators, made from the ``random_state`` of users."""

from typing import Any

import numpy as np

from gapdrift.errors import ParameterError

__all__ = ["RandomState", "as_rng", "draw_seed"]

RandomState = int | np.integer[Any] | np.random.Generator | np.random.RandomState | None


def as_rng(random_state: RandomState) -> np.random.Generator:
    """Generator made from an int, a Generator, a RandomState or None."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    valid = random_state is None or (
        isinstance(random_state, int | np.integer) and not isinstance(random_state, bool) and random_state >= 0
    )
    if not valid:
        raise ParameterError(
            f"random_state is {random_state!r}, expected None, an integer that is not negative, a numpy Generator or "
            "a numpy RandomState."
        )
    return np.random.default_rng(random_state)


def draw_seed(rng: np.random.Generator) -> int:
    """Seed for a scikit-learn estimator."""
    return int(rng.integers(2**31))
