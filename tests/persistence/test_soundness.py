from dataclasses import replace

import numpy as np
import pytest
from gapdrift.inference.observed_null import ObservedNull
from gapdrift.models.normal_scores import NormalScores

import gapdrift as gd
from gapdrift.detectors.mdlfwf.regressors import Forest, LinearModel
from gapdrift.errors import StorageError
from gapdrift.inference.null import N_DRAWS, Null
from gapdrift.models.gaussian import DensePrecision, FactorPrecision
from gapdrift.models.imputation import ChainedRegressions, ConstantFill
from gapdrift.models.partition import Partition
from gapdrift.results.result import Histogram
from gapdrift.tables.histograms import HistogramAxis
from gapdrift.tables.schema import Column, Schema


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


def test_sound_parts_pass():
    for thing in (CHAIN, FOREST, HistogramAxis((), (), ()), Column("x", "number")):
        thing.check_stored()


KNOWN = np.ones(2, dtype=bool)


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
        NormalScores(((np.array([1.0]), np.array([1.0])),)),
        NormalScores(((np.array([1.0, 1.0]), np.array([1.0, 2.0])),)),
        NormalScores(((np.array([1.0, 2.0]), np.array([1.0])),)),
        NormalScores(((np.array([1.0, 2.0]), np.array([1.0, 1e9])),)),
        NormalScores(((np.arange(9_999.0), np.zeros(9_999)),)),
        DensePrecision(np.ones((2, 3))),
        DensePrecision(-np.eye(2)),
        DensePrecision(np.array(1.0)),
        DensePrecision(np.eye(1_001)),
        FactorPrecision(np.ones((2, 1)), np.zeros(2)),
        FactorPrecision(np.ones((3, 1)), np.ones(2)),
        FactorPrecision(np.ones((2, 99)), np.ones(2)),
        Null(np.array([1, 0]), np.eye(2), 10),
        Null(np.array([0, 1]), np.eye(3), 10),
        Null(np.array([0, 1]), np.array([[1.0, 0.5], [0.2, 1.0]]), 10),
        Null(np.array([0, 1]), 5.0 * np.eye(2), 10),
        Null(np.array([0, 1]), np.eye(2), 0),
        ObservedNull(KNOWN, np.ones(N_DRAWS), -np.ones(N_DRAWS), 1, np.ones(N_DRAWS), 1),
        ObservedNull(KNOWN[None], np.ones(N_DRAWS), np.ones(N_DRAWS), 1, np.ones(N_DRAWS), 1),
        ObservedNull(KNOWN, np.ones(9), np.ones(N_DRAWS), 1, np.ones(N_DRAWS), 1),
        ObservedNull(KNOWN, np.ones(N_DRAWS), np.ones(N_DRAWS), 1, np.full(N_DRAWS, 2.0), 1),
        ObservedNull(KNOWN, np.ones(N_DRAWS), np.ones(N_DRAWS), -1, np.ones(N_DRAWS), 1),
        HistogramAxis((0.0, 1.0), (), ()),
        HistogramAxis(tuple([0.0] * 21), (0.0,), ()),
        HistogramAxis(tuple(range(21)), (1.0, 2.0), ()),
        HistogramAxis((), (1.0,), ()),
        HistogramAxis((0.0,), (), ("a",)),
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
def conditional():
    return gd.DriftDetector(random_state=0).fit(gd.datasets.stations(200, rng=0)).reference_


@pytest.fixture(scope="module")
def fuzzy(fitted):
    return fitted.reference_


def test_fitted_references_pass(conditional, fuzzy):
    conditional.check_stored()
    conditional.profile.check_stored()
    fuzzy.check_stored()


@pytest.mark.parametrize(
    "change",
    [
        lambda profile: {"owner": profile.owner[:-1]},
        lambda profile: {"owner": profile.owner + 100},
        lambda profile: {"is_category": profile.is_category[:-1]},
        lambda profile: {"mean": profile.mean[:-1]},
        lambda profile: {"mean": np.full_like(profile.mean, 1e308)},
        lambda profile: {"entropy": profile.entropy[None]},
        lambda profile: {"donors": profile.donors[:, 1:]},
        lambda profile: {"donors": profile.donors[:0]},
        lambda profile: {"donors": np.full_like(profile.donors, 1e308)},
        lambda profile: {"moments": None},
        lambda profile: {"moments": profile.moments[1:]},
        lambda profile: {"n_spread": 3},
        lambda profile: {"n_spread": 2**20},
        lambda profile: {"n_learned": 0},
        lambda profile: {"paired": profile.paired[::-1]},
        lambda profile: {"paired": profile.paired + 1},
        lambda profile: {"missing_paired": -profile.missing_paired},
        lambda profile: {"scores": NormalScores(profile.scores.knots[1:])},
        lambda profile: {"directions": profile.directions[:, :-1]},
        lambda profile: {"directions": profile.directions[:-1]},
        lambda profile: {"centres": profile.centres[:, 1:]},
        lambda profile: {"centres": profile.centres[:0]},
        lambda profile: {
            "centres": np.repeat(profile.centres, 300, axis=0),
            "bin_rows": np.repeat(profile.bin_rows, 300),
        },
        lambda profile: {"bin_rows": profile.bin_rows[1:]},
        lambda profile: {"precision": DensePrecision(np.eye(2))},
        lambda profile: {"precision": FactorPrecision(np.ones((len(profile.mean), 1)), np.ones(len(profile.mean)))},
    ],
)
def test_profiles_whose_parts_do_not_fit(conditional, change):
    refused(replace(conditional.profile, **change(conditional.profile)))


@pytest.mark.parametrize(
    "change",
    [
        lambda whole: {"histogram_axes": whole.histogram_axes[1:]},
        lambda whole: {"histogram_axes": whole.histogram_axes[::-1]},
        lambda whole: {"origin": "other"},
        lambda whole: {"min_effect": -1.0},
        lambda whole: {"evidence": whole.evidence.zero()},
        lambda whole: {"evidence": gd.Evidence(5, {}, whole.origin)},
        lambda whole: {"schema": Schema(whole.schema.columns[1:])},
        lambda whole: {"shape": replace(whole.shape, skewness=whole.shape.skewness[1:])},
        lambda whole: {"values_null": whole.missing_null},
        lambda whole: {"missing_null": whole.values_null},
        lambda whole: {"evidence": gd.Evidence(5, dict(whole.evidence.sums) | {"bins": np.zeros(1)}, whole.origin)},
    ],
)
def test_references_whose_parts_do_not_fit(conditional, change):
    with pytest.raises(StorageError, match="not sound"):
        replace(conditional, **change(conditional)).check_stored()


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
