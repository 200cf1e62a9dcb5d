"""Thread limits around the numerical libraries."""

from contextlib import AbstractContextManager
from functools import lru_cache

from threadpoolctl import ThreadpoolController

__all__ = ["limit_threads"]

MAX_THREADS = 1_024


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def limit_threads(n_jobs: int | None) -> AbstractContextManager[object]:
    """Context in which OpenMP and BLAS use at most ``n_jobs`` threads.

    Parameters
    ----------
    n_jobs : int or None
        None is one thread: small fits run up to a hundred times slower on two threads of a
        busy machine than on one.

    Examples
    --------
    >>> with limit_threads(None):
    ...     pass
    """
    limits: AbstractContextManager[object] = _controller().limit(
        limits=1 if n_jobs is None else min(n_jobs, MAX_THREADS)
    )
    return limits
