"""Time of one row given to a monitor as a dict, beside the same rows as one table, in turns.

- waiting: a row that fills no window. Bar: at most 50 microseconds.
- all: rows one by one, with their windows, over the same rows as one table. Bar: at most twice as long.

Run `python -m benchmarks.rows`.
"""

import time
from collections.abc import Callable

import numpy as np

import gapdrift as gd
from benchmarks._report import Bar, finish

ROUNDS, WINDOW = 5, 500


def main() -> None:
    stations = gd.datasets.stations
    detector = gd.DriftDetector(random_state=0).fit(stations(2_000, rng=0))
    table = stations(4 * WINDOW, rng=1)
    rows = [
        {name: cell.item() if isinstance(cell, np.generic) else cell for name, cell in zip(table, cells, strict=True)}
        for cells in zip(*table.values(), strict=True)
    ]

    def one_by_one(given: list[dict[str, object]]) -> Callable[[], object]:
        monitor = gd.Monitor(detector, WINDOW)
        return lambda: [monitor.update(row) for row in given]

    def whole() -> Callable[[], object]:
        monitor = gd.Monitor(detector, WINDOW)
        return lambda: monitor.update(table)

    waiting, single, together = [], [], []
    for _ in range(ROUNDS):
        waiting.append(seconds(one_by_one(rows[: WINDOW - 1])))
        single.append(seconds(one_by_one(rows)))
        together.append(seconds(whole()))
    finish(
        [
            Bar("waiting, microseconds a row", 1e6 * min(waiting) / (WINDOW - 1), "<=", 50.0),
            Bar("all, over one table", min(single) / min(together), "<=", 2.0),
        ]
    )


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
