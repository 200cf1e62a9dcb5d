"""Small tables of every kind, fitted."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from gapdrift.counting.functions import Functions, fit_functions
from gapdrift.counting.regions import Regions, fit_regions
from gapdrift.tables.encoding import Encoded, encode
from gapdrift.tables.schema import Schema, learn_schema


def hide(table, rng, rate=0.2):
    return table.mask(rng.random(table.shape) < rate)


def numbers(rng, n_rows, n_columns=12):
    rows = rng.normal(size=(n_rows, n_columns)) @ rng.normal(size=(n_columns, n_columns))
    return hide(pd.DataFrame(rows, columns=[f"c{place}" for place in range(n_columns)]), rng)


def mixed(rng, n_rows):
    table = pd.DataFrame(
        {
            "heavy": rng.standard_t(1.2, size=n_rows),
            "ties": rng.poisson(3.0, size=n_rows).astype(float),
            "constant": np.full(n_rows, 7.5),
            "colour": rng.choice(["red", "green", "blue"], n_rows),
            "flag": rng.choice(["yes", "no"], n_rows, p=[0.1, 0.9]),
            "mostly": np.where(rng.random(n_rows) < 0.9, 0.0, rng.exponential(size=n_rows)),
        }
    )
    table = hide(table, rng)
    table["empty"] = np.nan
    table.iloc[::17] = np.nan
    return table


KINDS = {
    "mixed": mixed,
    "twelve": numbers,
    "one": lambda rng, n_rows: numbers(rng, n_rows, 1),
    "complete": lambda rng, n_rows: pd.DataFrame(rng.lognormal(sigma=3.0, size=(n_rows, 3)), columns=list("abc")),
}


@dataclass(frozen=True)
class Fitted:
    schema: Schema
    functions: Functions
    regions: Regions
    window: pd.DataFrame
    rows: Encoded


@pytest.fixture(params=list(KINDS))
def kind(request, rng):
    """A reference of 400 rows and a window of 90, which goes beyond it."""
    make = KINDS[request.param]
    reference, window = make(rng, 400), make(rng, 90)
    schema = learn_schema(reference)
    rows = encode(reference, schema)
    functions = fit_functions(rows, schema)
    regions = fit_regions(functions, functions.codes(rows), 5, rng)
    return Fitted(schema, functions, regions, window, encode(window, schema))
