"""Regions: nearest centres over observed cells, exact, and stored."""

import numpy as np
import pytest

from gapdrift.counting.counter import count
from gapdrift.counting.functions import fit_functions
from gapdrift.counting.regions import MAX_REGIONS, Regions, default_n_regions, fit_regions, nearest
from gapdrift.errors import StorageError
from gapdrift.tables.encoding import encode
from gapdrift.tables.schema import learn_schema
from tests.counting import naive_sums as naive


def test_rows_go_to_the_nearest_centre_over_their_observed_cells(kind):
    functions, regions = kind.functions, kind.regions
    values, observed = functions.values(functions.codes(kind.rows))
    found = nearest(regions.weights(functions), values[:, : len(functions.columns)].T, observed.T)
    owner = functions.owner.tolist()
    expected = [
        naive.region_of(scores, [seen[its] for its in owner], regions.centres)
        for _, scores, _, seen in naive.rows_of(functions, kind.rows.values)
    ]
    assert found.tolist() == expected


def test_the_first_of_equally_near_centres_is_taken():
    scores, observed = np.array([[0.0, 0.0, 0.0]]), np.array([[1.0, 1.0, 0.0]])
    weights = np.array([[-20.0], [20.0], [-20.0]]), np.array([[100.0], [100.0], [100.0]])
    assert nearest(tuple(part.astype(np.float32) for part in weights), scores, observed).tolist() == [0, 0, 3]


def test_distances_are_exact_where_they_are_largest():
    """300 columns at opposite ends: one step in one column decides."""
    centres = np.full((MAX_REGIONS, 300), 80)
    centres[-1, 0] = 79
    regions = Regions(centres, centres > 0)
    squares = np.add.reduce(centres**2, axis=1)[:, None].astype(np.float32)
    weights = (-2.0 * regions.centres).astype(np.float32), squares
    scores = np.full((300, 2), -80.0, dtype=np.float32)
    scores[:, 1] = 80.0
    assert nearest(weights, scores, np.ones((1, 2), dtype=np.float32)).tolist() == [MAX_REGIONS - 1, 0]


def test_clusters_are_found_though_cells_are_missing(rng):
    cluster = rng.integers(0, 3, 900)
    rows = 10.0 * np.eye(3)[cluster] @ rng.normal(size=(3, 6)) + rng.normal(size=(900, 6))
    rows[rng.random(rows.shape) < 0.2] = np.nan
    schema = learn_schema(rows)
    encoded = encode(rows, schema)
    functions = fit_functions(encoded, schema)
    regions = fit_regions(functions, functions.codes(encoded), 3, rng)
    values, observed = functions.values(functions.codes(encoded))
    found = nearest(regions.weights(functions), values[:, :6].T, observed.T)
    agree = [np.bincount(found[cluster == each], minlength=4).max() for each in range(3)]
    assert sum(agree) > 0.9 * len(rows)


def test_equal_rows_have_one_region(rng):
    rows = np.ones((40, 2))
    schema = learn_schema(rows)
    encoded = encode(rows, schema)
    functions = fit_functions(encoded, schema)
    regions = fit_regions(functions, functions.codes(encoded), 5, rng)
    assert len(regions) == 1
    assert count(functions, encoded, regions)["regions"].tolist() == [40.0, 0.0]


@pytest.mark.parametrize(("n_rows", "n_regions"), [(20, 2), (500, 10), (10_000, 20)])
def test_one_region_for_every_50_rows_by_default(n_rows, n_regions):
    assert default_n_regions(n_rows) == n_regions


@pytest.mark.parametrize("centres", [np.zeros((0, 2)), np.full((2, 2), 81), np.zeros(3), np.zeros((300, 1))])
def test_centres_that_make_no_sense_are_refused(centres):
    with pytest.raises(StorageError):
        Regions(centres.astype(np.intp), np.ones(centres.shape, dtype=bool)).check_stored()
