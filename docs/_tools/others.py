"""Blocks that need another library, run in an environment of their own: ``python -m docs._tools.others [NAME...]``.

Libraries pin versions that exclude one another, so that each has its environment, ``.others/<name>/``, made with venv
and pip as the benchmarks make theirs. A block names it in the comment before it, ``<!-- in: evidently -->``.
"""

import argparse
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.peers.environments import PEERS, Peer, prepare

from docs._tools.fences import blocks_of
from docs._tools.terminal import ROOT

FOLDER = ROOT / ".others"
OURS = ("--editable", f"{ROOT}[cli]")
LIBRARIES: dict[str, tuple[str, ...]] = {
    "evidently": PEERS["evidently"].requirements,
    "nannyml": PEERS["nannyml"].requirements,
    "alibi-detect": PEERS["alibi-detect"].requirements,
    "whylogs": ("whylogs[viz]==1.6.4", "numpy==1.26.4", "scikit-learn==1.5.2", "pandas==2.3.3"),
    "mlflow": ("mlflow==3.17.2",),
    "airflow": ("apache-airflow-core==3.3.2", "apache-airflow-providers-standard==1.21.0", "pandas==3.1.1"),
}
"""Requirements of each environment, beside gapdrift itself."""


def pages_of(name: str) -> list[Path]:
    """Pages with a block that is run in an environment."""
    return [
        path
        for path in sorted((ROOT / "docs").rglob("*.md"))
        if any(block.environment == name for block in blocks_of(path.read_text(encoding="utf-8")))
    ]


def check(name: str, update: bool) -> str:
    """What is wrong with the blocks of an environment; empty where nothing is."""
    environment = prepare(Peer(name, (*LIBRARIES[name], *OURS)), FOLDER)
    if environment.error:
        return f"{name} could not be installed: {environment.error}"
    mode = () if update else ("--check",)
    command = [environment.python, "-m", "docs._tools.blocks", *mode, "--environment", name, *pages_of(name)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return f"{name}: {done.stderr}" if done.returncode else ""


def main() -> None:
    """Run the blocks of all environments, two at a time; exit with 1 where one of them fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(LIBRARIES), metavar="NAME", help="all if not given")
    parser.add_argument("--update", action="store_true", help="write the real output into the pages")
    options = parser.parse_args()
    if unknown := set(options.names) - set(LIBRARIES):
        parser.error(f"expected some of {', '.join(LIBRARIES)}, got {', '.join(unknown)}.")
    with ThreadPoolExecutor(1 if options.update else 2) as pool:
        wrong = [text for text in pool.map(lambda name: check(name, options.update), options.names) if text]
    print(f"{len(options.names) - len(wrong)} passed, {len(wrong)} failed")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
