"""Two sides of tables of numbers, and the null of the first."""

from dataclasses import dataclass

import numpy as np
import pytest

from gapdrift.counting.counter import count
from gapdrift.counting.evidence import Evidence
from gapdrift.counting.functions import Functions, fit_functions
from gapdrift.counting.sums import Side
from gapdrift.inference.comparison import compare
from gapdrift.inference.null import ReferenceNull, fit_null
from gapdrift.tables.encoding import encode
from gapdrift.tables.schema import learn_schema


def hide(rows, rng, rate=0.2):
    return np.where(rng.random(rows.shape) < rate, np.nan, rows)


@dataclass(frozen=True)
class Fitted:
    """What a reference of numbers is compared by."""

    functions: Functions
    null: ReferenceNull
    reference: Side

    @classmethod
    def fit(cls, rows):
        encoded = encode(rows, learn_schema(rows))
        functions = fit_functions(encoded, learn_schema(rows))
        return cls(functions, fit_null(functions, functions.codes(encoded)), cls.side_of(functions, rows))

    @staticmethod
    def side_of(functions, rows):
        return Side(functions, Evidence(len(rows), count(functions, np.asarray(rows, dtype=float))))

    def sides(self, window):
        return self.reference, self.side_of(self.functions, window)

    def compare(self, window):
        return compare(self.null, self.sides(window), [()] * len(self.functions.axes))


@pytest.fixture(scope="session")
def fit():
    return Fitted.fit


def draw(n_rows, rng, rate=0.2, n_columns=5):
    """Columns that go together, one of them heavy and one rounded, with cells missing at random."""
    rows = rng.normal(size=(n_rows, n_columns)) + 0.7 * rng.normal(size=(n_rows, 1))
    rows[:, 1], rows[:, 2] = np.exp(rows[:, 1]), np.round(2.0 * rows[:, 2])
    return hide(rows, rng, rate)


@pytest.fixture(scope="session")
def unchanged():
    """Comparisons of 150 references with windows of the same rows, of which more cells are missing at random."""
    rng = np.random.default_rng(7)
    return [Fitted.fit(draw(400, rng, 0.1)).compare(draw(300, rng, 0.3)) for _ in range(150)]


def is_uniform(p_values, n_deviations=4.0):
    """Whether shares below some levels are those of uniform numbers, within so many standard deviations."""
    found = np.asarray(p_values)
    levels = np.array([0.01, 0.05, 0.2, 0.5])
    shares = (found[:, None] < levels).mean(axis=0)
    return bool((np.abs(shares - levels) < n_deviations * np.sqrt(levels * (1 - levels) / len(found)) + 1e-9).all())
