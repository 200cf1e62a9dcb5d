"""When the results that pages show were committed, and whether what they measure has changed since."""

import datetime
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
MEASURED = tuple(
    f"src/gapdrift/{name}" for name in ("tables", "models", "counting", "inference", "detectors", "streaming")
)
"""Code that decides what comes out of a benchmark."""


def describe(path: Path) -> str:
    """A sentence on a file of results: its name, day and commit, and how many later commits change what it measures.

    Of a file that is not committed, and outside of a repository, the name alone.
    """
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    commit, _, day = _git("log", "-1", "--format=%h %cs", "--", name).strip().partition(" ")
    return f"`{name}`, {_words(day)} (commit {commit}{_since(commit)})" if commit else f"`{name}`"


def describe_commit(commit: str, day: str) -> str:
    """The same of a run whose commit is known."""
    return f"gapdrift at {commit}, {_words(day)}{_since(commit.partition(',')[0])}"


def _words(day: str) -> str:
    return f"{datetime.date.fromisoformat(day):%-d %B %Y}"


@cache
def _since(commit: str) -> str:
    later = _git("rev-list", "--count", "--no-merges", f"{commit}..HEAD", "--", *MEASURED).strip()
    if later in ("", "0"):
        return ""
    return f"; {later} later commit{'s' if later != '1' else ''} changed code that it measures"


def _git(*arguments: str) -> str:
    """What git prints; nothing where it fails."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout if done.returncode == 0 else ""
