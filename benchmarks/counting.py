"""Nanoseconds a row of counting, facts and 20 regions included, in one process and one thread.

KMeans is scikit-learn's `KMeans.predict` with 32 clusters on the same rows without missing values. All run in turns,
and the fastest of three rounds counts.

- 1,000,000 x 20 numbers, 20 % missing in ten columns: at most 4.5 times KMeans with the extra `fast` (numba), aim 3.5,
  and at most 12 times without;
- 300 columns, half of them with 20 % missing: at most 40 microseconds a row.

Run `python -m benchmarks.counting`; with `--share 0.1` there are a tenth of the rows.
"""

import argparse
from collections.abc import Callable
from unittest.mock import patch

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from benchmarks._report import Bar, finish, left_out
from benchmarks._timing import draw, in_turns
from gapdrift.counting import counter
from gapdrift.counting.functions import fit_functions
from gapdrift.counting.regions import fit_regions
from gapdrift.tables.encoding import encode
from gapdrift.tables.schema import learn_schema

N_REFERENCE, N_REGIONS = 5_000, 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--share", type=float, default=1.0, help="of the rows (default %(default)s)")
    share = parser.parse_args().share
    with threadpool_limits(1):
        narrow = nanoseconds(int(1_000_000 * share), 20, 10)
        wide = nanoseconds(int(20_000 * share), 300, 150)
    note = f"KMeans.predict {narrow['kmeans']:.0f} ns a row"
    bars = [bar("count without fast", narrow, "numpy", 12.0, note)]
    if "fast" in narrow:
        bars.insert(0, bar("count with fast", narrow, "fast", 4.5, note))
    else:
        left_out("count with fast", "numba is not installed: pip install 'gapdrift[fast]'.")
    bars += [
        Bar(f"300 columns by {name}, microseconds a row", wide[name] / 1e3, "<=", 40.0)
        for name in ("fast", "numpy")
        if name in wide
    ]
    finish(bars)


def bar(name: str, found: dict[str, float], way: str, bound: float, note: str) -> Bar:
    return Bar(f"{name}, times KMeans", found[way] / found["kmeans"], "<=", bound, f"{found[way]:.0f} ns a row, {note}")


def nanoseconds(n_rows: int, n_columns: int, n_gappy: int) -> dict[str, float]:
    """Nanoseconds a row of `KMeans.predict`, and of counting by numpy and, where there is numba, by machine code."""
    complete, incomplete = draw(n_rows, 1, n_columns, n_gappy)
    reference = draw(N_REFERENCE, 0, n_columns, n_gappy)[1]
    schema = learn_schema(reference)
    rows = encode(reference, schema)
    functions = fit_functions(rows, schema)
    regions = fit_regions(functions, functions.codes(rows), N_REGIONS, np.random.default_rng(0))
    kmeans = KMeans(32, n_init=1, random_state=0).fit(complete[:20_000])

    def count(code: object) -> Callable[[], object]:
        def work() -> object:
            with patch.object(counter, "machine_code", lambda _n_rows: code):
                return counter.count_table(incomplete, schema, functions, regions)

        return work

    works = {"kmeans": lambda: kmeans.predict(complete), "numpy": count(None)}
    code = counter.machine_code(counter.COMPILED_ROWS)
    if code is not None:
        works["fast"] = count(code)
        counter.count_table(incomplete[:100], schema, functions, regions)
    seconds = in_turns(list(works.values()), rounds=3)
    return dict(zip(works, [each / n_rows * 1e9 for each in seconds], strict=True))


if __name__ == "__main__":
    main()
