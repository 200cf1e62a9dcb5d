import numpy as np
import pandas as pd
import pytest

from gapdrift.tables.encoding import encode
from gapdrift.tables.histograms import count_cells, fit_grids, make_histogram
from gapdrift.tables.schema import learn_schema


def test_counts_are_those_of_the_observed_cells(rng):
    table = pd.DataFrame(
        {"n": rng.normal(size=300), "c": rng.choice(["a", "b"], 300), "e": [None] * 300, "k": np.ones(300)}
    )
    table.loc[:29, "n"] = np.nan
    table.loc[:9, "c"] = None
    schema = learn_schema(table)
    rows = encode(table, schema)
    grids = fit_grids(rows, schema)
    assert [len(grid) for grid in grids] == [20, 3, 0, 20]
    counts = count_cells(rows, schema, grids)
    assert counts[:20].sum() == 270
    np.testing.assert_array_equal(counts[20:23], [*np.sort(table["c"].value_counts())[::-1], 0])
    assert counts[23:].sum() == 300
    far = encode(table.assign(n=1e9, c="z"), schema)
    moved = count_cells(far, schema, grids)
    assert moved[19] == 300
    assert moved[22] == 300
    histogram = make_histogram(grids[0], counts[:20], moved[:20])
    assert sum(histogram.reference) == pytest.approx(1.0)
    assert histogram.window[-1] == 1.0
    assert make_histogram(grids[2], counts[23:23], counts[23:23]) is None


def test_no_rows_have_no_shares(rng):
    schema = learn_schema(rng.normal(size=(30, 1)))
    rows = encode(rng.normal(size=(30, 1)), schema)
    grids = fit_grids(rows, schema)
    nothing = count_cells(encode(np.empty((0, 1)), schema), schema, grids)
    assert make_histogram(grids[0], nothing, nothing).window == (0.0,) * 20
