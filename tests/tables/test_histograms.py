import numpy as np
import pandas as pd

from gapdrift.tables.encoding import encode
from gapdrift.tables.histograms import MAX_HISTOGRAM_CELLS, count_categories, fit_axes
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
    assert [len(axis) for axis in axes[1:]] == [3, 0, 20]
    numbers, categories = rows.values[30:, 0], rows.values[:, schema.owner == 1]
    counts = np.bincount(axes[0].cells_of(numbers), minlength=len(axes[0]))
    assert 20 < len(counts) <= MAX_HISTOGRAM_CELLS
    inside = np.clip(numbers, axes[0].edges[0], axes[0].edges[-1])
    np.testing.assert_array_equal(axes[0].shown(counts), np.histogram(inside, axes[0].edges)[0])
    np.testing.assert_array_equal(count_categories(categories, axes[1]), [*np.sort(table["c"].value_counts())[::-1], 0])
    assert not len(count_categories(rows.values[:, schema.owner == 2], axes[2]))
    assert axes[3].shown(np.bincount(axes[3].cells_of(rows.values[:, -1]), minlength=20)).max() == 300
    far = encode(table.assign(n=1e9, c="z"), schema)
    assert (axes[0].cells_of(far.values[:, 0]) == len(axes[0]) - 1).all()
    assert count_categories(far.values[:, schema.owner == 1], axes[1])[-1] == 300


def test_numbers_that_are_repeated_have_cells_of_their_own(rng):
    few = pd.DataFrame({"n": rng.integers(0, 30, 400).astype(float)})
    mixed = pd.DataFrame({"n": np.where(rng.random(2_000) < 0.1, 0.25, rng.normal(size=2_000))})
    for table, own in ((few, np.arange(30.0)), (mixed, np.array([0.25]))):
        schema = learn_schema(table, categories=())
        axis = fit_axes(encode(table, schema), schema)[0]
        cells = axis.cells_of(table["n"].to_numpy())
        for value in own:
            assert set(table["n"][cells == axis.cells_of(np.array([value]))[0]]) == {value}
