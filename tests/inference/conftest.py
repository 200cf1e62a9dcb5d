"""Two sides of tables of numbers, and the null of the first."""

from dataclasses import dataclass

import numpy as np
import pytest

from gapdrift.counting.counter import count
from gapdrift.counting.evidence import Evidence
from gapdrift.counting.functions import Functions, fit_functions
from gapdrift.counting.sums import Side
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


@pytest.fixture
def fit():
    return Fitted.fit


def is_uniform(p_values, n_deviations=4.0):
    """Whether shares below some levels are those of uniform numbers, within so many standard deviations."""
    found = np.asarray(p_values)
    levels = np.array([0.01, 0.05, 0.2, 0.5])
    shares = (found[:, None] < levels).mean(axis=0)
    return bool((np.abs(shares - levels) < n_deviations * np.sqrt(levels * (1 - levels) / len(found)) + 1e-9).all())
