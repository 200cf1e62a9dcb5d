"""The code of a number is found without a search, and is what a search finds, for every float."""

import numpy as np
import pytest

from gapdrift.counting.functions import Axis, fit_functions
from gapdrift.tables.encoding import encode
from gapdrift.tables.schema import learn_schema
from tests.counting import naive_sums as naive

rng = np.random.default_rng(5)
EDGES = {
    "even": np.linspace(-3.0, 3.0, 40),
    "heavy": np.unique(rng.standard_cauchy(300)),
    "one": np.array([2.5]),
    "none": np.zeros(0),
    "neighbours": np.array([1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 2.0) + 1e-9]),
    "denormal": np.array([-5e-324, 0.0, 5e-324, 1e-310, 1e-300]),
    "huge": np.array([-1e100, -1e-3, 0.0, 1e-3, 1e100]),
    "largest": np.array([-np.finfo(float).max, 0.0, 1.0, np.finfo(float).max]),
    "infinite": np.array([-np.inf, 0.0, 1.0, np.inf]),
    "far": 1e16 + np.arange(0.0, 400.0, 2.0),
    "dense": np.concatenate([np.linspace(0.0, 1e-9, 200), np.linspace(1.0, 2.0, 200)]),
}


def axis_of(edges):
    return Axis(edges, np.zeros((len(edges) + 1, 1), dtype=np.intp))


def numbers_around(edges):
    """At, next to and between edges, and far from all."""
    everywhere = [0.0, -0.0, 5e-324, -5e-324, 1e-300, 1e100, -1e100, 1.0, -1.0, 3e9, -3e19, np.nan]
    finite = edges[np.isfinite(edges)]
    drawn = [1e3 * rng.standard_cauchy(500)]
    if len(finite):
        with np.errstate(over="ignore"):
            drawn += [rng.choice(finite, 500), np.nextafter(finite, np.inf), np.nextafter(finite, -np.inf)]
        drawn += [0.5 * finite[:-1] + 0.5 * finite[1:], rng.uniform(0.5 * finite[0], 0.5 * finite[-1], 500)]
    found = np.concatenate([everywhere, *drawn])
    return rng.permutation(found[~np.isinf(found)])


def codes_in_machine_code(axis, numbers):
    compiled = pytest.importorskip("gapdrift.counting.compiled")
    return compiled.codes_of(numbers, axis.grid, axis.limits)


@pytest.mark.parametrize("codes_of", [Axis.codes_of, codes_in_machine_code])
@pytest.mark.parametrize("name", EDGES)
def test_codes_are_what_a_search_finds(name, codes_of):
    edges, axis = EDGES[name], axis_of(EDGES[name])
    numbers = numbers_around(edges)
    expected = np.where(np.isnan(numbers), len(edges) + 1, np.searchsorted(edges, numbers, side="right"))
    assert np.array_equal(codes_of(axis, numbers), expected)


@pytest.mark.parametrize(
    "draw",
    [
        lambda size: rng.normal(size=size),
        lambda size: rng.lognormal(sigma=2.0, size=size),
        rng.standard_cauchy,
        lambda size: rng.integers(0, 100, size) * 1.0,
        lambda size: np.full(size, 3.0),
        lambda size: np.full(size, np.nan),
    ],
)
def test_hardly_any_number_needs_a_search(draw):
    reference = draw((3_000, 1))
    reference[0] = 3.0
    schema = learn_schema(reference)
    grid = fit_functions(encode(reference, schema), schema).axes[0].grid
    assert np.mean(grid.codes.take(grid.cells_of(draw(3_000)), mode="clip") < 0) < 0.02


def test_functions_of_rows_equal_loops_over_cells(kind):
    values, observed = kind.functions.values(kind.functions.codes(kind.rows))
    codes, *expected = zip(*naive.rows_of(kind.functions, kind.rows.values), strict=True)
    assert np.array_equal(kind.functions.codes(kind.rows).T, codes)
    scores, waves, is_observed = (np.array(part) for part in expected)
    assert np.array_equal(values, np.hstack([scores, waves.reshape(len(scores), -1)]))
    assert np.array_equal(observed, is_observed)


def test_columns_beyond_those_that_are_multiplied_have_codes_alone(rng):
    table = rng.normal(size=(50, 400))
    schema = learn_schema(table)
    functions = fit_functions(encode(table, schema), schema)
    codes = functions.codes(encode(table, schema))
    values, observed = functions.values(codes)
    assert codes.shape == (400, 50)
    assert (values.shape, observed.shape) == ((50, 600), (50, 300))
    for place, column in enumerate(functions.columns.tolist()):
        assert np.array_equal(values[:, place], functions.axes[column].steps[codes[column], 0])
