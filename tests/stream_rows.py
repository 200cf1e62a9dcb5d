"""Small streams and detectors for the tests of monitors."""

from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise

import numpy as np

import gapdrift as gd

START = datetime(2024, 1, 1, tzinfo=UTC)


def rows(n, seed, shift=0.0):
    """Two dependent columns and a category, a fifth of the cells missing."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n) + shift
    return {
        "x": np.where(rng.random(n) < 0.2, np.nan, x),
        "y": np.where(rng.random(n) < 0.2, np.nan, x + rng.normal(size=n)),
        "c": rng.choice(np.array(["red", "green", None], dtype=object), n, p=[0.5, 0.3, 0.2]),
    }


@cache
def detector(min_effect=0.0):
    return gd.DriftDetector(random_state=0, min_effect=min_effect).fit(rows(400, 0))


def timed(n, seed, shift=0.0, seconds=1.0, first=0.0):
    """Rows with a time each, one after the other."""
    times = [START + timedelta(seconds=first + seconds * place) for place in range(n)]
    return rows(n, seed, shift) | {"time": times}


def part(table, start, stop):
    return {name: column[start:stop] for name, column in table.items()}


def cut(table, places):
    """The table in pieces that end at the places."""
    n_rows = len(next(iter(table.values())))
    ends = [0, *sorted(places), n_rows]
    return [part(table, start, stop) for start, stop in pairwise(ends)]


def join(*tables):
    return {name: [cell for table in tables for cell in table[name]] for name in tables[0]}


def as_records(table):
    return [dict(zip(table, cells, strict=True)) for cells in zip(*table.values(), strict=True)]


def told(windows):
    return [window.to_dict() for window in windows]
