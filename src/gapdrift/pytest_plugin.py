"""Plugin for pytest: a fixture that fails a test where a table drifted. pytest finds it by itself."""

from collections.abc import Callable
from typing import Any

import pytest

__all__ = ["assert_no_drift"]


@pytest.fixture(name="assert_no_drift", scope="session")
def assert_no_drift() -> Callable[..., Any]:
    """Function that fails if a window drifted: ``assert_no_drift(reference, window, alpha=0.01, limits={...})``.

    Returns
    -------
    check : callable
        Takes a reference (a table, files, or a fitted detector), a window, the parameters of
        `gapdrift.DriftDetector`, and ``limits`` and ``columns`` as in `gapdrift.results.run_checks`; returns the
        `gapdrift.DriftResult`. Checks beside drift are made only where limits are given.
    """
    return _assert_no_drift


def _assert_no_drift(
    reference: Any,
    window: Any,
    *,
    limits: dict[str, Any] | None = None,
    columns: dict[str, dict[str, Any]] | None = None,
    **settings: Any,
) -> Any:
    __tracebackhide__ = True
    import gapdrift as gd  # noqa: PLC0415

    fitted = isinstance(reference, gd.detectors.Detector)
    result = reference.test(window, **settings) if fitted else gd.compare(reference, window, **settings)
    if result.drift:
        pytest.fail(result.summary(), pytrace=False)
    if limits is not None or columns is not None:
        general = gd.results.Limits().changed("limits", limits or {})
        failed = [check for check in gd.results.run_checks(result, general, columns) if not check.passed]
        if failed:
            pytest.fail("\n".join(f"{check.column or 'table'}: {check.message}" for check in failed), pytrace=False)
    return result
