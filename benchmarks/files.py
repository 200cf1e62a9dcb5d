"""Memory of `gapdrift compare` on files that do not fit: two Parquet files of 5,000,000 rows and 20 columns.

A fifth of the cells of ten columns is missing, one column of the window has moved by a fiftieth of its deviation. Row
groups have the size that pyarrow gives them, a million rows. Bar: the process stays under 1 GiB.

Run `python -m benchmarks.files`; `--rows 500000` is a short one.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._report import Bar, finish, say

COLUMNS = 20
CHUNK = 100_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000, help="rows of each file (default %(default)s)")
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        paths = [
            write(Path(folder) / f"{name}.parquet", rows, seed) for seed, name in enumerate(("reference", "window"))
        ]
        say(f"comparing {rows:,} rows")
        start = time.monotonic()
        command = [sys.executable, "-m", "gapdrift", "compare", *map(str, paths), "--json"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds = time.monotonic() - start
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    result = json.loads(done.stdout)
    note = f"{result['n_window']:,} rows in the window, {seconds:.0f} s, p = {result['p_value']:.2g}"
    finish([Bar("peak memory of gapdrift compare, MiB", peak, "<", 1024, note)])


def write(path: Path, rows: int, seed: int) -> Path:
    """A file of correlated columns, written a chunk at a time; the second one has moved a little."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    say(f"writing {path.name}")
    rng = np.random.default_rng(seed)
    writer: Any = None
    batches: list[Any] = []
    for start in range(0, rows, CHUNK):
        size = min(CHUNK, rows - start)
        values = 0.5 * rng.normal(size=(size, 1)) + rng.normal(size=(size, COLUMNS))
        values[:, 0] += 0.02 * seed
        values[:, :10][rng.random((size, 10)) < 0.2] = np.nan
        columns = {f"c{index}": pa.array(values[:, index], from_pandas=True) for index in range(COLUMNS)}
        batches.append(pa.table(columns))
        if len(batches) == 10 or start + size == rows:
            writer = writer or pq.ParquetWriter(path, batches[0].schema)
            writer.write_table(pa.concat_tables(batches), row_group_size=1_048_576)
            batches = []
    writer.close()
    return path


if __name__ == "__main__":
    main()
