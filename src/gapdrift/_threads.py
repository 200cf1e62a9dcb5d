"""A limit on the threads of the numerical libraries."""

from contextlib import AbstractContextManager
from functools import lru_cache

from threadpoolctl import ThreadpoolController

__all__ = ["limit_threads"]

MAX_THREADS = 1_024
"""Larger values of ``n_jobs`` count as this one."""


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def limit_threads(n_jobs: int | None) -> AbstractContextManager[object]:
    """Context manager within which OpenMP and BLAS use at most ``n_jobs`` threads.

    Parameters
    ----------
    n_jobs : int or None
        None means one thread: on a busy machine small fits can take a hundred times as long with two threads as with
        one.
    """
    limits: AbstractContextManager[object] = _controller().limit(
        limits=1 if n_jobs is None else min(n_jobs, MAX_THREADS)
    )
    return limits
