"""One environment for each peer, because their pins exclude one another: `.bench/<peer>/`, made with venv and pip.

What was tried is remembered in `.bench/<peer>/outcome.json`: the requirements, and the first line of why they could not
be installed. An environment is made again only where its requirements have changed; delete its folder to try anew.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks._report import say
from benchmarks.peers.methods import OURS

__all__ = ["ADAPTERS", "PEERS", "Environment", "Peer", "prepare"]

ADAPTERS = Path(__file__).parent / "adapters"
_ROOT = Path(__file__).parents[2] / ".bench"
_READER = ("pandas==2.3.3", "pyarrow==26.0.1")
_OLDER = ("numpy==1.26.4", "scipy==1.14.1", "scikit-learn==1.5.2", "pandas==2.3.3", "pyarrow==20.0.0")
"""alibi-detect excludes NumPy 2 and deepchecks uses names that it dropped; LightGBM 4.5, which NannyML asks for, passes
an argument that scikit-learn dropped in 1.8; pyarrow 26 excludes NumPy 1."""
_AN_HOUR = 3600


@dataclass(frozen=True)
class Peer:
    """A library and the exact versions it is measured with."""

    name: str
    requirements: tuple[str, ...]

    @property
    def adapter(self) -> Path:
        """The script that its interpreter runs; not named like the library, which it would hide."""
        return ADAPTERS / f"{self.name.replace('-', '_')}_adapter.py"


@dataclass(frozen=True)
class Environment:
    """The interpreter of a peer, or why there is none."""

    python: Path
    error: str | None = None


PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer(OURS, ()),
        Peer("evidently", ("evidently==0.7.23", *_READER)),
        Peer("nannyml", ("nannyml==0.13.1", *_OLDER)),
        Peer("alibi-detect", ("alibi-detect==0.13.0", "torch==2.13.0", *_OLDER)),
        Peer("frouros", ("frouros==0.9.0", *_READER)),
        Peer("river", ("river==0.26.1", *_READER)),
        Peer("menelaus", ("menelaus==0.2.0", *_READER)),
        Peer("deepchecks", ("deepchecks==0.19.1", "setuptools==75.8.0", *_OLDER)),
        Peer("hyppo", ("hyppo==0.5.2", *_READER)),
    )
}
"""All libraries by name, gapdrift first, which runs with the interpreter of the benchmark itself."""


def prepare(peer: Peer, root: Path = _ROOT) -> Environment:
    """Environment of a peer, made where it is not there yet.

    Parameters
    ----------
    peer : Peer
    root : Path
        Where the environments are.
    """
    if not peer.requirements:
        return Environment(Path(sys.executable))
    folder = root / peer.name
    outcome = _outcome(folder, peer.requirements)
    if outcome is None:
        say(f"installing {peer.name}")
        outcome = _install(folder, peer.requirements)
        text = json.dumps({"requirements": peer.requirements, "error": outcome}, indent=2)
        (folder / "outcome.json").write_text(text + "\n", encoding="utf-8")
    return Environment(_python(folder), outcome or None)


def _outcome(folder: Path, requirements: Sequence[str]) -> str | None:
    """The error of an earlier attempt at the same requirements, empty if it went well; None if there was none."""
    path = folder / "outcome.json"
    if not path.is_file():
        return None
    found = json.loads(path.read_text(encoding="utf-8"))
    return str(found["error"]) if found["requirements"] == list(requirements) else None


def _install(folder: Path, requirements: Sequence[str]) -> str:
    """Make the environment anew; returns the first line of what went wrong, empty where nothing did."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    quiet = [] if sys.stderr.isatty() else ["--quiet"]
    pip = [str(_python(folder)), "-m", "pip", "install", "--disable-pip-version-check", *quiet, *requirements]
    for command in ([sys.executable, "-m", "venv", str(folder)], pip):
        error = _run(command)
        if error:
            return error
    return ""


def _run(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=_AN_HOUR, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return f"{type(problem).__name__}: {problem}".splitlines()[0]
    return "" if done.returncode == 0 else _why(done.stderr)


def _why(text: str) -> str:
    """The first line that names an error, else the last one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if line.lower().startswith("error")), lines[-1] if lines else "no reason given")


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"
