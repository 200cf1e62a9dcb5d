"""Commands in processes that start at once: forks of one process that has imported everything.

A process of its own needs about two seconds of the processor to import what a command needs. Where that start is not
what a test is about, it is a fork of a server instead, with its own arguments, environment, folder and output.
"""

import multiprocessing
import os
import signal
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from subprocess import CompletedProcess

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(
    ["tests.forks", "tests.kill_worker", "gapdrift.cli._work", "experiments.catalogue", "pandas", "pyarrow.parquet"]
)


def run_command(*arguments, cwd=None, module="gapdrift.cli", **environment):
    """A command that has ended, with its exit code and what it printed: never a traceback."""
    with tempfile.TemporaryDirectory() as folder:
        outputs = [Path(folder) / name for name in ("out", "err")]
        process = start_command(*arguments, cwd=cwd, module=module, outputs=outputs, **environment)
        process.join(300)
        if process.is_alive():
            kill(process)
            raise TimeoutError(f"{module} {arguments} took more than 300 s")
        out, err = (path.read_bytes().decode() for path in outputs)
    assert "Traceback" not in err + out
    return CompletedProcess(arguments, process.exitcode, out, err)


def start_command(*arguments, cwd=None, module="gapdrift.cli", outputs=(os.devnull, os.devnull), **environment):
    """A command at work: the ``main`` of a module, in a session of its own."""
    settings = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **environment}
    words = [str(word) for word in arguments]
    process = SERVER.Process(target=_call, args=(module, words, cwd or Path.cwd(), settings, *outputs))
    process.start()
    return process


def kill(process):
    """End a command, and what it started, at once."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:  # not yet the leader of a session, or ended
        process.kill()
    process.join()


def _call(module, arguments, cwd, environment, *outputs):
    os.setsid()
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    for number, path in enumerate((os.devnull, *outputs)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT if number else os.O_RDONLY), number)
    sys.stdin, sys.stdout, sys.stderr = (open(number, "w" if number else "r") for number in range(3))  # noqa: PTH123, SIM115
    import_module(module).main(arguments)
