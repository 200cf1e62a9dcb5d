"""Measurements in processes of their own, on one thread."""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["HERE", "Finished", "check_checkout", "environment", "measure", "run_alone", "time_import"]

HERE = Path(__file__).parents[1]
"""The checkout that holds these benchmarks."""

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
}
HIDE_NUMBA = "import sys; sys.modules['numba'] = None; "
MEASURE = (
    "from benchmarks._processes import check_checkout; check_checkout(); "
    "from benchmarks._measurements import main; main()"
)


@dataclass(frozen=True)
class Finished:
    """Seconds that a process took, and its peak memory in MiB."""

    seconds: float
    mebibytes: float


def measure(name: str, *arguments: object, checkout: Path = HERE, numba: bool = True) -> dict[str, float]:
    """What the measurement of this name in `benchmarks._measurements` finds.

    Parameters
    ----------
    name
        Which measurement.
    *arguments
        Its arguments.
    checkout
        Whose gapdrift is measured.
    numba
        False makes importing numba fail, as where the extra ``fast`` is not installed.
    """
    code = MEASURE if numba else HIDE_NUMBA + MEASURE
    command = [sys.executable, "-c", code, str(checkout), name, *map(str, arguments)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment(checkout))
    if done.returncode:
        sys.exit(f"The measurement {name!r} of {checkout} failed:\n{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def check_checkout() -> None:
    """End a process whose gapdrift is not the one of the checkout that its first argument names."""
    import gapdrift  # noqa: PLC0415

    if not Path(gapdrift.__file__).is_relative_to(sys.argv[1]):
        sys.exit(f"gapdrift was imported from {gapdrift.__file__}, expected it below {sys.argv[1]}.")


def run_alone(*command: str) -> Finished:
    """Run a command to its end with nothing to see on a terminal, and measure it.

    Linux counts the memory of the process that starts another one as that of the other one, up to the moment when its
    own program begins. So this process must stay small: whatever needs much memory is done in `measure`.
    """
    start = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment(HERE)
    )
    assert process.stderr is not None
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{errors}")
    return Finished(seconds, usage.ru_maxrss / 1024)


def time_import(code: str, checkout: Path) -> float:
    """Seconds that a fresh interpreter needs for some imports, its own start apart."""
    timed = f"import time; start = time.perf_counter(); {code}; print(time.perf_counter() - start)"
    command = [sys.executable, "-c", timed]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment(checkout))
    return float(done.stdout)


def environment(checkout: Path) -> dict[str, str]:
    """Environment in which gapdrift comes from a checkout, and the benchmarks from here."""
    return {**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join([str(checkout / "src"), str(HERE)])}
