import io
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pytest
from gapdrift.inference.contrast import Shape
from gapdrift.models.normal_scores import NormalScores

import gapdrift as gd
from gapdrift.detectors.mdlfwf.regressors import Recipe
from gapdrift.detectors.reference import Setting
from gapdrift.errors import StorageError
from gapdrift.models.imputation import ConstantFill
from gapdrift.models.partition import Partition
from gapdrift.persistence.archive import pack, reading
from gapdrift.persistence.codec import Reader, Writer, read_record
from gapdrift.tables.histograms import HistogramAxis
from gapdrift.tables.schema import Column, Schema


def through_a_file(value, hint=None):
    """The value after it was written and read, and the arrays that it consists of."""
    writer = Writer()
    content = writer.write(value, "thing")
    with reading(io.BytesIO(pack("thing", content, writer.arrays))) as package:
        return read_record(package, type(value) if hint is None else hint)


def read(hint, content, arrays=None):
    with reading(io.BytesIO(pack("thing", content, arrays or {}))) as package:
        return Reader(package).read(hint, content, "thing")


def test_records_come_back():
    column = Column("größe\ud800", "category", ("a", "b"), 2, ("b",), True)
    schema = Schema((column, Column("x", "number")), ("id",), False, ("Note.",))
    assert through_a_file(schema) == schema
    edges = tuple(np.linspace(0.1, 1 / 3, 21).tolist())
    axis = HistogramAxis(edges, edges[1:-1], ())
    assert through_a_file(axis) == axis


@pytest.mark.parametrize("number", [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -0.0, 1e22, 123456789.123456789])
def test_numbers_come_back_to_the_bit(number):
    found = through_a_file(gd.results.Finding("test", number, 1, 0.5, -number)).statistic
    assert np.float64(found).tobytes() == np.float64(number).tobytes()


def test_numbers_of_numpy_become_plain_ones():
    finding = gd.results.Finding("test", np.float64(1.5), np.int64(2), 1, np.float32(0.5))
    found = through_a_file(finding)
    assert found == finding
    assert type(found.degrees_of_freedom) is int
    assert type(found.p_value) is float
    result = gd.DriftResult(np.True_, 0.5, 0.05, 1, 2, finding)
    assert through_a_file(result).drift is True


def test_arrays_of_each_kind_come_back():
    knots = (np.array([1.0, 2.0]), np.array([-1.0, 1.0]))
    found = through_a_file(NormalScores((knots, None)))
    assert found.knots[1] is None
    assert all(np.array_equal(one, two) for one, two in zip(found.knots[0], knots, strict=True))
    partition = through_a_file(Partition(np.eye(2), np.array([3, 4])))
    assert partition.sizes.dtype == np.intp
    assert through_a_file(Partition(np.eye(2))).sizes is None


def test_infinity_has_a_meaning_only_where_a_field_says_so():
    flat = np.zeros(2)
    shape = Shape(flat, np.array([np.inf, 1.0]), flat > 0, flat + 1, flat, flat > 0)
    assert through_a_file(shape).kurtosis[0] == np.inf
    with pytest.raises(StorageError, match="finite"):
        through_a_file(Shape(shape.kurtosis, flat, flat > 0, flat + 1, flat, flat > 0))
    with pytest.raises(StorageError, match="finite"):
        through_a_file(ConstantFill(np.array([np.nan])))
    with pytest.raises(StorageError, match="finite"):
        through_a_file(Shape(flat, np.array([np.nan, 1.0]), flat > 0, flat + 1, flat, flat > 0))
    with pytest.raises(StorageError, match="finite"):
        through_a_file(NormalScores(((np.array([1.0, 2.0]), np.array([np.nan, 1.0])),)))


def test_names_of_sums_may_be_anything():
    names = ("plain", "../up", "a.b", "", "ü", "x" * 500, "0")
    evidence = gd.Evidence(2, {name: np.full(2, float(index)) for index, name in enumerate(names)})
    found = through_a_file(evidence)
    assert {name: array.tolist() for name, array in found.sums.items()} == {
        name: [float(index)] * 2 for index, name in enumerate(names)
    }


@dataclass(frozen=True)
class Stranger:
    name: str = "x"


@pytest.mark.parametrize("value", [Stranger(), object(), [1], {1, 2}, b"bytes", 1j, gd.Evidence(1, {}).zero])
def test_types_that_are_not_known_are_not_written(value):
    with pytest.raises(StorageError, match="cannot be stored"):
        Writer().write(value, "thing")


FINDING = {
    "type": "Finding",
    "name": "test",
    "statistic": 1.0,
    "degrees_of_freedom": 1,
    "p_value": 0.5,
    "effect_size": 0.1,
    "contributions": [],
    "reason": "",
    "parts": [],
}


def test_the_record_of_the_next_tests_is_right():
    assert read(gd.results.Finding, FINDING) == gd.results.Finding("test", 1.0, 1, 0.5, 0.1)
    bare = FINDING | {"statistic": None, "degrees_of_freedom": None, "effect_size": None}
    assert read(gd.results.Finding, bare) == gd.results.Finding("test", None, None, 0.5, None)


@pytest.mark.parametrize(
    "change",
    [
        {"type": "Histogram"},
        {"type": None},
        {"more": 1},
        {"name": 1},
        {"name": None},
        {"statistic": "1.0"},
        {"statistic": True},
        {"p_value": None},
        {"statistic": 2**70},
        {"degrees_of_freedom": 1.0},
        {"degrees_of_freedom": True},
        {"degrees_of_freedom": 2**63},
        {"p_value": 0.0},
        {"p_value": -1},
        {"p_value": 1.5},
        {"contributions": 1},
        {"contributions": {"0": 1.0}},
        {"contributions": ["x"]},
        {"parts": [1]},
        {"parts": [{"type": "Histogram"}]},
        {"parts": {"type": "Finding"}},
    ],
)
def test_records_that_are_wrong(change):
    with pytest.raises(StorageError, match="not sound"):
        read(gd.results.Finding, FINDING | change)
    with pytest.raises(StorageError, match="not sound"):
        read(gd.results.Finding, [FINDING])
    with pytest.raises(StorageError, match="not sound"):
        read(gd.results.Finding, {key: value for key, value in FINDING.items() if key != "name"})


@pytest.mark.parametrize(
    "node",
    [None, "a.npy", {"array": "b.npy"}, {"array": 1}, {"array": "a.npy", "more": 1}, {"array": ["a.npy"]}, [0.0]],
)
def test_references_to_arrays_that_are_wrong(node):
    with pytest.raises(StorageError, match="array"):
        read(ConstantFill, {"type": "ConstantFill", "constants": node}, {"a.npy": np.zeros(2)})


@pytest.mark.parametrize("array", [np.arange(2), np.array([True]), np.zeros(2, dtype=np.uint8)])
def test_arrays_of_another_type(array):
    with pytest.raises(StorageError, match="float64"):
        read(ConstantFill, {"type": "ConstantFill", "constants": {"array": "a.npy"}}, {"a.npy": array})


def test_an_array_serves_once_and_none_is_left_over():
    node = {"array": "a.npy"}
    with pytest.raises(StorageError, match="array of its own"):
        read(NormalScores, {"type": "NormalScores", "knots": [[node, node]]}, {"a.npy": np.arange(2.0)})
    data = io.BytesIO(pack("thing", None, {"a.npy": np.zeros(2)}))
    with reading(data) as package, pytest.raises(StorageError, match="belongs to nothing"):
        Reader(package).finish()


@pytest.mark.parametrize(
    "node",
    [
        {},
        {"names": []},
        {"type": "set", "names": []},
        {"type": "NameList", "names": [1.5]},
        {"type": "NameList", "names": [[]]},
        {"type": "NameList", "names": 1},
        [None],
        [1.5],
        2**70,
        {"type": "Recipe", "name": "eval", "settings": {}},
        {"type": "Recipe", "name": 1, "settings": {}},
        {"type": "Recipe", "name": "Ridge", "settings": []},
        {"type": "Recipe", "name": "Ridge", "settings": {"alpha": [1]}},
        {"type": "Recipe", "name": "Ridge", "settings": {"alpha": 2**60}},
    ],
)
def test_settings_that_are_wrong(node):
    with pytest.raises(StorageError):
        read(Mapping[str, Setting | Recipe], {"name": node})


def test_types_may_refuse_to_be_written_without_rows(monkeypatch):
    held = lambda imputer: "holds rows" if imputer.constants.size else ""  # noqa: E731
    monkeypatch.setattr(ConstantFill, "holds_rows", held, raising=False)
    Writer(keep_rows=False).write(ConstantFill(np.zeros(0)), "thing")
    Writer(keep_rows=True).write(ConstantFill(np.zeros(1)), "thing")
    with pytest.raises(StorageError, match=r"keep_rows=False nothing is written: thing\.0 holds rows"):
        Writer(keep_rows=False).write((ConstantFill(np.zeros(1)),), "thing")
