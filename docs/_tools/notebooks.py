"""The notebooks of the gallery, executed from the first cell to the last, as those who download them do.

``python -m docs._tools.notebooks FOLDER`` executes all notebooks below a folder, two at a time.
"""

import asyncio
import os
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from nbclient import NotebookClient


def execute(path: Path) -> str:
    """Name of a notebook that was executed."""
    asyncio.set_event_loop(asyncio.new_event_loop())
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            timeout=300,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
            extra_arguments=["--log-level=ERROR"],
        )
        client.execute(env=os.environ | {"PYTHONWARNINGS": "ignore"})
    return path.name


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    found = sorted(Path(sys.argv[1]).rglob("*.ipynb"))
    with ThreadPoolExecutor(2) as pool:
        for name in pool.map(execute, found):
            print("executed", name)
    if not found:
        sys.exit(f"There is no notebook in {sys.argv[1]}.")
