from dataclasses import replace

import numpy as np
import pytest

import gapdrift as gd
from gapdrift.counting.functions import LARGEST_STEP, N_SHOWN, Axis, Functions
from gapdrift.counting.regions import MAX_REGIONS, Regions
from gapdrift.detectors.mdlfwf.regressors import Forest, LinearModel
from gapdrift.errors import StorageError
from gapdrift.inference.blocks import EntryShape
from gapdrift.inference.products import ProductSum
from gapdrift.models.imputation import ChainedRegressions, ConstantFill
from gapdrift.models.partition import Partition
from gapdrift.results.result import Histogram
from gapdrift.tables.schema import Column, Schema


def regions_at(centres):
    return Regions(centres, np.ones(centres.shape, dtype=bool))


def refused(thing):
    with pytest.raises(StorageError, match="not sound"):
        thing.check_stored()


CHAIN = ChainedRegressions(np.zeros(2), np.array([0]), np.array([[1]]), np.ones((1, 1)), np.zeros(1))

FOREST = Forest(
    2,
    single_precision=True,
    start=0.0,
    output="sum",
    roots=np.array([0, 3]),
    feature=np.array([1, 0, 0, 0]),
    threshold=np.array([0.5, 0.0, 0.0, 0.0]),
    children=np.array([[1, 2], [1, 1], [2, 2], [3, 3]]),
    value=np.arange(4.0),
)
"""A tree with two leaves, and one that is a leaf."""

AXIS = Axis(np.array([0.0, 1.0]), np.array([[-1], [0], [1]]))


def test_sound_parts_pass():
    for thing in (CHAIN, FOREST, AXIS, Column("x", "number")):
        thing.check_stored()


@pytest.mark.parametrize(
    "thing",
    [
        Column("x", "date"),
        Column("x", "number", ("a",)),
        Column("x", "category", ("a", "a")),
        Column("x", "category", ("a",), 0),
        Column("x", "category", ("a",), 10**9),
        Schema(()),
        Schema((Column("x", "empty"),)),
        Schema((Column("x", "number"), Column("x", "number"))),
        Schema(tuple(Column(str(index), "category", (), 10_000) for index in range(3))),
        replace(AXIS, edges=np.array([1.0, 0.0])),
        replace(AXIS, edges=np.array([[0.0, 1.0]])),
        replace(AXIS, steps=np.zeros(3, dtype=int)),
        replace(AXIS, steps=AXIS.steps[1:]),
        replace(AXIS, steps=AXIS.steps * (LARGEST_STEP + 1)),
        replace(AXIS, shown=AXIS.edges),
        replace(AXIS, shown=np.linspace(0.2, 0.8, N_SHOWN + 1)),
        replace(AXIS, single=np.arange(13.0)),
        replace(AXIS, single=np.array([np.inf])),
        Functions((AXIS, AXIS), np.ones(1, dtype=bool)),
        Functions((Axis(np.zeros(0), np.zeros((3, 2), dtype=int)),), np.ones(1, dtype=bool)),
        regions_at(np.zeros(2, dtype=int)),
        regions_at(np.zeros((0, 2), dtype=int)),
        regions_at(np.zeros((MAX_REGIONS + 1, 2), dtype=int)),
        regions_at(np.full((1, 2), LARGEST_STEP + 1)),
        Regions(np.zeros((1, 2), dtype=int), np.ones((1, 1), dtype=bool)),
        ProductSum(0.0, 1.0, 0.0),
        ProductSum(1.0, -1.0, 0.0),
        ProductSum(1.0, 1.0, -1.0),
        ConstantFill(np.zeros((2, 2))),
        replace(CHAIN, columns=np.array([2])),
        replace(CHAIN, neighbours=np.array([[-1]])),
        replace(CHAIN, coefficients=np.ones((1, 2))),
        LinearModel(np.zeros((2, 2)), 0.0),
        LinearModel(np.array(1.0), 0.0),
        replace(FOREST, n_features=1),
        replace(FOREST, n_features=-1),
        replace(FOREST, output="best"),
        replace(FOREST, roots=FOREST.roots[:0]),
        replace(FOREST, roots=FOREST.roots[:1]),
        replace(FOREST, roots=np.array([0, 4])),
        replace(FOREST, roots=np.array([0, -1])),
        replace(FOREST, roots=np.array([0, 0])),
        replace(FOREST, roots=FOREST.roots[None]),
        replace(FOREST, feature=-FOREST.feature),
        replace(FOREST, feature=FOREST.feature[1:]),
        replace(FOREST, feature=np.array(1)),
        replace(FOREST, threshold=FOREST.threshold[1:]),
        replace(FOREST, value=FOREST.value[:, None]),
        replace(FOREST, children=FOREST.children.ravel()),
        replace(FOREST, children=FOREST.children[:, :1]),
        replace(FOREST, children=np.array([[1, 2], [0, 0], [2, 2], [3, 3]])),
        replace(FOREST, children=np.array([[1, 2], [1, 2], [2, 2], [3, 3]])),
        replace(FOREST, children=np.array([[1, 1], [1, 1], [2, 2], [3, 3]])),
        replace(FOREST, children=np.array([[1, 3], [1, 1], [2, 2], [3, 3]])),
        replace(FOREST, children=np.array([[1, 2], [1, 1], [2, 2], [4, 5]])),
        replace(FOREST, children=np.array([[1, 2], [1, 1], [2, 2], [-1, -1]])),
        replace(FOREST, children=np.array([[1, 2], [2, 3], [2, 2], [3, 3]])),
        Forest(2, False, 0.0, "sum", *[np.zeros(0, dtype=int)] * 2, np.zeros(0), np.zeros((0, 2), int), np.zeros(0)),
        Partition(np.zeros((2, 2)), np.ones(3, dtype=int)),
        gd.results.Finding("x", 1.0, 1, 0.0, 0.1),
        gd.results.FeatureFinding("x", 1.5, 0.0),
        gd.results.FeatureFinding("x", 0.5, 0.0, 2.0),
        Histogram(("a",), (), (0.5, 0.5), (1.0,)),
        gd.DriftResult(True, 0.5, 1.5, 1, 1, gd.results.Finding("x", 1.0, 1, 0.5, 0.1)),
        gd.DriftResult(True, 0.5, 0.5, -1, 1, gd.results.Finding("x", 1.0, 1, 0.5, 0.1)),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_parts_that_are_not_sound(thing):
    refused(thing)


def chain(n_levels):
    """A tree that splits off one leaf at each level: node 2 i has the leaf 2 i + 1 and the node 2 i + 2."""
    place = np.arange(2 * n_levels + 1)
    children = np.where(place[:, None] % 2, place[:, None], place[:, None] + [1, 2])
    children[-1] = place[-1]
    zeros = np.zeros(len(place))
    return Forest(1, False, 0.0, "sum", np.array([0]), np.zeros(len(place), int), zeros, children, zeros)


def stumps(n_trees):
    """Trees of a single leaf."""
    place, zeros = np.arange(n_trees), np.zeros(n_trees)
    children = np.column_stack([place, place])
    return Forest(1, False, 0.0, "sum", place, np.zeros(n_trees, int), zeros, children, zeros)


@pytest.mark.parametrize("make", [chain, stumps])
def test_the_steps_of_trees_have_a_limit(make, monkeypatch):
    monkeypatch.setattr("gapdrift.models.forest.MAX_STEPS", 1_000)
    make(999).check_stored()
    for n_steps in (1_001, 1_000_000):
        forest = make(n_steps)
        for check in (forest.check_stored, forest.to_stored):
            with pytest.raises(StorageError, match="trees x levels"):
                check()


def test_the_nodes_of_trees_have_a_limit(monkeypatch):
    monkeypatch.setattr("gapdrift.models.forest.MAX_TREE_NODES", 3)
    with pytest.raises(StorageError, match="at most 3 nodes"):
        FOREST.check_stored()


@pytest.fixture(scope="module")
def observed():
    return gd.DriftDetector(random_state=0).fit(gd.datasets.stations(200, rng=0)).reference_


@pytest.fixture(scope="module")
def labelled():
    return gd.DriftDetector(random_state=0, target="wind").fit(gd.datasets.stations(200, rng=0)).reference_


@pytest.fixture(scope="module")
def fuzzy(fitted):
    return fitted.reference_


def test_fitted_references_pass(observed, labelled, fuzzy):
    for reference in (observed, labelled, fuzzy):
        reference.check_stored()


def cut(shape):
    return EntryShape(*(part[1:] for part in (shape.variance, shape.skewness, shape.kurtosis, shape.n_rows)))


@pytest.mark.parametrize(
    "change",
    [
        lambda null: {"functions": cut(null.functions)},
        lambda null: {"functions": replace(null.functions, variance=-null.functions.variance)},
        lambda null: {"functions": replace(null.functions, n_rows=null.functions.n_rows[1:])},
        lambda null: {"products": cut(null.products)},
        lambda null: {"products": null.functions},
        lambda null: {"triples": cut(null.triples)},
        lambda null: {"shares": null.shares[1:]},
        lambda null: {"location_excess": -1.0},
    ],
)
def test_nulls_whose_parts_do_not_fit(observed, change):
    null = replace(observed.null, **change(observed.null))
    with pytest.raises(StorageError, match="not sound"):
        null.check_stored()
        null.check_fits(observed.functions)


@pytest.mark.parametrize(
    "change",
    [
        lambda whole: {"origin": "other"},
        lambda whole: {"min_effect": -1.0},
        lambda whole: {"evidence": whole.evidence.zero()},
        lambda whole: {"evidence": gd.Evidence(5, {}, whole.origin)},
        lambda whole: {"evidence": gd.Evidence(5, dict(whole.evidence.sums) | {"cells": np.zeros(1)}, whole.origin)},
        lambda whole: {"schema": Schema(whole.schema.columns[1:])},
        lambda whole: {"schema": Schema(whole.schema.columns[::-1])},
        lambda whole: {"functions": Functions(whole.functions.axes[1:], whole.functions.is_number[1:])},
        lambda whole: {"functions": Functions(whole.functions.axes, ~whole.functions.is_number)},
        lambda whole: {"regions": regions_at(whole.regions.centres[:, 1:])},
        lambda whole: {"regions": regions_at(whole.regions.centres[1:])},
        lambda whole: {"null": replace(whole.null, functions=cut(whole.null.functions))},
    ],
)
def test_references_whose_parts_do_not_fit(observed, change):
    with pytest.raises(StorageError, match="not sound"):
        replace(observed, **change(observed)).check_stored()


@pytest.mark.parametrize(
    "change",
    [
        lambda whole: {"origin": "other"},
        lambda whole: {"place": 9},
        lambda whole: {"place": 0},
        lambda whole: {"schema": whole.covariates.schema},
        lambda whole: {"label": whole.covariates.functions},
        lambda whole: {"concept": replace(whole.concept, is_number=not whole.concept.is_number)},
        lambda whole: {"concept": None},
        lambda whole: {"correction": whole.evidence},
        lambda whole: {"correction": gd.Evidence(0, {}, whole.origin)},
        lambda whole: {"evidence": whole.covariates.evidence},
    ],
)
def test_labelled_references_whose_parts_do_not_fit(labelled, change):
    with pytest.raises(StorageError, match="not sound"):
        replace(labelled, **change(labelled)).check_stored()


@pytest.mark.parametrize(
    "change",
    [
        lambda model: {"intercepts": model.intercepts[1:]},
        lambda model: {"slopes": model.slopes[:, :, :0]},
        lambda model: {"steps": model.steps[:, 1:]},
        lambda model: {"bends": np.zeros((1, 2), dtype=int)},
        lambda model: {"roles": model.roles[1:]},
        lambda model: {"spread": np.zeros(3)},
        lambda model: {"needed": np.array([999])},
        lambda model: {"columns": model.columns - 999},
    ],
)
def test_models_of_a_label_whose_parts_do_not_fit(labelled, change):
    refused(replace(labelled.concept, **change(labelled.concept)))


@pytest.mark.parametrize(
    "change",
    [
        lambda whole: {"membership": "best"},
        lambda whole: {"top_q": 0},
        lambda whole: {"has_missing": whole.has_missing[1:]},
        lambda whole: {"partition": Partition(whole.partition.centres[1:])},
        lambda whole: {"partition": Partition(whole.partition.centres[:, 1:])},
        lambda whole: {"distance": replace(whole.distance, imputers=whole.distance.imputers[1:])},
        lambda whole: {"distance": replace(whole.distance, imputers=(ConstantFill(np.zeros(1)),) * 5)},
        lambda whole: {"distance": replace(whole.distance, regressor=FOREST)},
        lambda whole: {"distance": replace(whole.distance, regressor=LinearModel(np.zeros(3), 0.0))},
        lambda whole: {"distance": replace(whole.distance, importances=np.zeros(1))},
    ],
)
def test_published_references_whose_parts_do_not_fit(fuzzy, change):
    with pytest.raises(StorageError, match="not sound"):
        replace(fuzzy, **change(fuzzy)).check_stored()
