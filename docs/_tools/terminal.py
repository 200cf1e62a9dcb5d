"""What a reader does in a terminal: commands, servers that go on in the background, lines of a crontab, dry runs."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
TIME_LIMIT = 600
MAKE = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
PATIENCE = 60
"""Seconds that a server has to answer its first request, and to end."""
GIT = {"advice.detachedHead": "false", "safe.directory": "*"}
"""Settings of git: a checkout without a branch, or of another owner, can be cloned without a word."""
CRON = {"PATH": "/usr/bin:/bin", "SHELL": "/bin/sh", "LANG": "C.UTF-8"}
"""All that cron tells its commands, beside the home folder."""
CRON_RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
ASSIGNMENT = re.compile(r"(\w+)=(.*)")


def environment() -> dict[str, str]:
    """Variables of the commands of a page: those of this process, with its interpreter first, and plain output.

    A make that has started this process is forgotten, or another one would print that it is inside of it.
    """
    return {name: value for name, value in os.environ.items() if name not in MAKE} | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "110",
        "NO_COLOR": "1",
        "MPLBACKEND": "Agg",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1",
        "GIT_CONFIG_COUNT": str(len(GIT)),
        **{f"GIT_CONFIG_KEY_{place}": key for place, key in enumerate(GIT)},
        **{f"GIT_CONFIG_VALUE_{place}": value for place, value in enumerate(GIT.values())},
    }


def run_commands(sources: Sequence[str], folder: Path) -> list[str]:
    """Outputs of commands that one bash runs in turn, errors included; each must end with exit code 0."""
    end = f"end of command {uuid.uuid4()}"
    step = f"code=$?; printf '\\n{end}\\n'; [ $code -eq 0 ] || exit $code"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", "".join(f"{source}\n{step}\n" for source in sources)],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=TIME_LIMIT,
        check=False,
    )
    *outputs, rest = done.stdout.split(f"\n{end}\n")
    if done.returncode or len(outputs) < len(sources):
        output = outputs[-1] if outputs and not rest else rest
        raise RuntimeError(f"exit code {done.returncode} of {sources[len(outputs) - (not rest)]!r}: {output}")
    return outputs


class Background:
    """A command that goes on while the blocks after it are run, such as a server.

    What it prints and what it logs, to the error stream, are kept in two files.
    """

    def __init__(self, source: str, folder: Path, address: str) -> None:
        name = f"background-{uuid.uuid4().hex}"
        self.source, self.output, self.log = source, folder / f"{name}.txt", folder / f"{name}.log"
        with self.output.open("wb") as output, self.log.open("wb") as log:
            self.process = subprocess.Popen(
                ["bash", "-c", f"exec {source}"],
                cwd=folder,
                env=environment(),
                stdout=output,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )
        try:
            self._wait_for(address)
        except BaseException:
            self.process.kill()
            raise

    def read(self) -> str:
        """What it has printed so far."""
        return self.output.read_text(encoding="utf-8")

    def stop(self) -> None:
        """Stop it as Ctrl+C does; it must end by itself, without an error."""
        self.process.send_signal(signal.SIGINT)
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        if code not in (0, -signal.SIGINT, 128 + signal.SIGINT) or "Traceback" in self._read_log():
            raise RuntimeError(f"exit code {code} of {self.source!r} in the background: {self._read_log()}")

    def _read_log(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def _wait_for(self, address: str) -> None:
        until = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < until:
            try:
                with urllib.request.urlopen(address, timeout=PATIENCE):
                    return
            except urllib.error.HTTPError:  # an answer, too
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError(f"{address} does not answer; {self.source!r} printed: {self.read()}{self._read_log()}")


def run_crontab(text: str, folder: Path) -> None:
    """Run the commands of a crontab once, by the shell and with the variables that cron gives them."""
    variables = CRON | {"HOME": str(folder)}
    for line in text.splitlines():
        if assignment := ASSIGNMENT.fullmatch(line):
            variables[assignment[1]] = assignment[2]
        elif line and not line.startswith("#"):
            *fields, command = line.split(maxsplit=5)
            check_times(fields)
            if re.search(r"(?<!\\)%", command):
                raise ValueError(f"cron ends a command at '%' unless it is written as '\\%': {command}")
            done = subprocess.run(
                [variables["SHELL"], "-c", command], cwd=folder, env=variables, timeout=TIME_LIMIT, check=False
            )
            if done.returncode:
                raise RuntimeError(f"exit code {done.returncode} of {command!r}")


def check_times(fields: Sequence[str]) -> None:
    """Raise a `ValueError` where the fields before a command of a crontab are not five fields of times."""
    if len(fields) != len(CRON_RANGES):
        raise ValueError(f"a line of a crontab has five fields and a command, got {fields}.")
    for field, (low, high) in zip(fields, CRON_RANGES, strict=True):
        for part in field.split(","):
            found = re.fullmatch(r"(?:\*|(\d+)(?:-(\d+))?)(?:/[1-9]\d*)?", part)
            if found is None or not all(low <= int(number) <= high for number in found.groups() if number):
                raise ValueError(f"{field!r} is no field of a crontab from {low} to {high}.")


def run_dry(source: str) -> None:
    """Check a command of the project without doing its work.

    make prints what it would do, pytest collects its tests, and a module reads its options.
    """
    program, *arguments = shlex.split(source, comments=True)
    if program == "make":
        command = ["make", "--dry-run", *arguments]
    elif Path(program).name == "pytest":
        command = [sys.executable, "-m", "pytest", "--collect-only", "--quiet", *arguments]
    elif program == "python" and arguments[:1] == ["-m"]:
        command = [sys.executable, "-m", "docs._tools.read_options", *arguments[1:]]
    else:
        raise ValueError(f"only make, pytest and python -m can be run dry, got {source!r}.")
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode} of {shlex.join(command)}: {done.stdout}{done.stderr}")


def check_run_by(source: str, script: str) -> None:
    """Raise a `ValueError` where a script of the project does not have a command as one of its lines."""
    words = shlex.split(source, comments=True)
    lines = (ROOT / script).read_text(encoding="utf-8").splitlines()
    if words not in [shlex.split(line, comments=True) for line in lines]:
        raise ValueError(f"{script} does not run {shlex.join(words)!r}.")
