import numpy as np
import pandas as pd

from gapdrift.tables.encoding import encode
from gapdrift.tables.histograms import count_cells, fit_axes
from gapdrift.tables.schema import learn_schema


def test_counts_are_those_of_the_observed_cells(rng):
    table = pd.DataFrame(
        {"n": rng.normal(size=300), "c": rng.choice(["a", "b"], 300), "e": [None] * 300, "k": np.ones(300)}
    )
    table.loc[:29, "n"] = np.nan
    table.loc[:9, "c"] = None
    schema = learn_schema(table)
    rows = encode(table, schema)
    axes = fit_axes(rows, schema)
    assert [len(axis) for axis in axes] == [20, 3, 0, 20]
    counts = count_cells(rows, schema, axes)
    assert counts[:20].sum() == 270
    np.testing.assert_array_equal(counts[20:23], [*np.sort(table["c"].value_counts())[::-1], 0])
    assert counts[23:].sum() == 300
    far = encode(table.assign(n=1e9, c="z"), schema)
    moved = count_cells(far, schema, axes)
    assert moved[19] == 300
    assert moved[22] == 300
