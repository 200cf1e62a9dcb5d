"""A process of an adapter that answers commands, and is started anew after it crashed or hung."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

__all__ = ["Worker", "failure"]

_START = 600.0
_WAITING = 10
_THREADS = (
    "OMP_NUM_THREADS",
    "OMP_THREAD_LIMIT",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
)


def failure(error: str) -> dict[str, Any]:
    """An answer that says only what went wrong."""
    return {
        "drift": None,
        "p_value": None,
        "seconds": None,
        "cpu_seconds": None,
        "peak_mib": None,
        "error": error,
        "warnings": [],
        "details": {},
    }


def processor_seconds(group: int) -> float:
    """Seconds of the processor that a group of processes has taken, with those children that have ended.

    Where the system does not show processes as files it is 0.
    """
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if int(fields[2]) == group:
                ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


class Worker:
    """The adapter of one library, run by its own interpreter; started by the first command.

    Parameters
    ----------
    python : Path
        Interpreter of the library's environment.
    adapter : Path
        Script that speaks the protocol of `adapters/protocol.py`.
    timeout : float
        Processor seconds for one command, so that it does not depend on what else the machine does; reading the files
        is part of them, imports are not. Ten times as many by the clock, for what waits and does not work.
    memory_gib : float
        What the process may allocate, which the adapter sees to; beyond it the library gets a MemoryError.
    path : str
        PYTHONPATH of the process.
    """

    def __init__(self, python: Path, adapter: Path, timeout: float, memory_gib: float, path: str = "") -> None:
        self._command = [str(python), str(adapter), str(int(memory_gib * 2**30))]
        self._timeout = timeout
        self._path = path
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._complaints: IO[str] | None = None
        self._hopeless = ""

    def __enter__(self) -> "Worker":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def ask(self, command: Mapping[str, Any], *, warm_up: bool = False) -> dict[str, Any]:
        """Answer to a command; what goes wrong is an answer too. What did not start is not started again.

        Parameters
        ----------
        command : mapping
        warm_up : bool
            Whether it may take as long as a start, because a library compiles what it needs.
        """
        if self._hopeless:
            return failure(self._hopeless)
        before = 0.0
        try:
            process = self._started()
            before = processor_seconds(process.pid)
            assert process.stdin is not None
            process.stdin.write(json.dumps(command) + "\n")
            process.stdin.flush()
            answer: dict[str, Any] = json.loads(self._line(_START if warm_up else self._timeout, before))
        except TimeoutError as problem:
            answer = failure(f"timeout: {problem}")
            if self._process is not None:
                answer["cpu_seconds"] = processor_seconds(self._process.pid) - before
        except OSError as problem:
            answer = failure(f"crash: {problem}")
        else:
            return answer
        self.stop()
        return failure(self._hopeless) if self._hopeless else answer

    def stop(self) -> None:
        """End the process and its children, if there are any; the next command starts another."""
        if self._process is not None:
            self._end(self._process)
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    with contextlib.suppress(BrokenPipeError):
                        stream.close()
        if self._complaints is not None:
            self._complaints.close()
        self._process = None

    def _end(self, process: "subprocess.Popen[str]") -> int:
        """Exit code after the process and its children have ended.

        The group is ended before its leader is waited for: until then no other process can get its number.
        """
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
        return process.wait()

    def _started(self) -> "subprocess.Popen[str]":
        if self._process is None:
            self._lines = queue.Queue()
            self._complaints = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                text=True,
                env=self._environment(),
                start_new_session=True,
            )
            threading.Thread(target=_read, args=(self._process.stdout, self._lines), daemon=True).start()
            try:
                self._line(_START, 0.0)
            except OSError as problem:
                self._hopeless = f"does not start: {problem}"
                raise
        return self._process

    def _environment(self) -> dict[str, str]:
        """One thread for every library, no word to anyone elsewhere.

        Two limits are for those that ask for all cores, whatever the others say: OpenMP's for NannyML's domain
        classifier, whose threads wait for one another most of the time where another program has a core, and joblib's
        for deepchecks, which starts a process for each.
        """
        one_thread = dict.fromkeys(_THREADS, "1")
        silent = {"DO_NOT_TRACK": "1", "NML_DISABLE_USAGE_LOGGING": "1", "DISABLE_DEEPCHECKS_ANONYMOUS_TELEMETRY": "1"}
        return {**os.environ, **one_thread, **silent, "PYTHONPATH": self._path, "PYTHONWARNINGS": "ignore"}

    def _line(self, timeout: float, before: float) -> str:
        """Next line of the process, which had taken so many processor seconds before it was asked."""
        assert self._process is not None
        last = time.monotonic() + _WAITING * timeout
        while True:
            with contextlib.suppress(queue.Empty):
                line = self._lines.get(timeout=min(1.0, timeout))
                if line is None:
                    raise OSError(self._last_words())
                return line
            if time.monotonic() > last or processor_seconds(self._process.pid) - before > timeout:
                raise TimeoutError(f"no answer within {timeout:g} s")

    def _last_words(self) -> str:
        assert self._process is not None
        assert self._complaints is not None
        os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        code = self._end(self._process)
        self._complaints.seek(0)
        said = [line.strip() for line in self._complaints.read().splitlines() if line.strip()]
        return f"the process ended with {code}" + (f": {said[-1][:200]}" if said else "")


def _read(stream: IO[str], lines: "queue.Queue[str | None]") -> None:
    """Pass lines on until the process ends, or is stopped and its stream closed."""
    with contextlib.suppress(ValueError):
        for line in stream:
            lines.put(line)
    lines.put(None)
