import numpy as np
import pandas as pd

from gapdrift.tables.encoding import encode
from gapdrift.tables.histograms import count_categories, fit_axes, interval_of
from gapdrift.tables.schema import learn_schema


def test_cells_have_their_intervals_and_categories(rng):
    table = pd.DataFrame(
        {"n": rng.normal(size=300), "c": rng.choice(["a", "b"], 300), "e": [None] * 300, "k": np.ones(300)}
    )
    table.loc[:29, "n"] = np.nan
    table.loc[:9, "c"] = None
    schema = learn_schema(table)
    rows = encode(table, schema)
    axes = fit_axes(rows, schema)
    assert [len(axis) for axis in axes] == [20, 3, 0, 20]
    numbers, categories = rows.values[:, 0], rows.values[:, schema.owner == 1]
    assert len(np.unique(interval_of(numbers[30:], axes[0]))) > 10
    np.testing.assert_array_equal(count_categories(categories, axes[1]), [*np.sort(table["c"].value_counts())[::-1], 0])
    assert not len(count_categories(rows.values[:, schema.owner == 2], axes[2]))
    assert (interval_of(rows.values[:, -1], axes[3]) == 10).all()
    far = encode(table.assign(n=1e9, c="z"), schema)
    assert (interval_of(far.values[:, 0], axes[0]) == 19).all()
    assert count_categories(far.values[:, schema.owner == 1], axes[1])[-1] == 300
