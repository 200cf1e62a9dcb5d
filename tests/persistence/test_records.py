import io
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Any

import numpy as np
import pytest
from numpy.typing import NDArray

import gapdrift.storage  # noqa: F401
from gapdrift.errors import ParameterError, StorageError
from gapdrift.persistence.archive import reading
from gapdrift.persistence.codec import Writer, pack_record, read_record
from gapdrift.persistence.records import (
    FORMS,
    INFINITE,
    StoredAs,
    expect,
    expect_range,
    expect_shape,
    expecting,
    stored,
)


@pytest.fixture(autouse=True)
def registry():
    """What a test registers is forgotten after it."""
    before = dict(FORMS)
    yield
    FORMS.clear()
    FORMS.update(before)


def through_a_file(value, hint=None):
    with reading(io.BytesIO(pack_record("thing", value))) as package:
        return read_record(package, hint or type(value))


def test_every_stored_type_of_the_package_has_a_name_of_its_own_is_frozen_and_has_fields_that_can_be_stored():
    assert len({cls.__name__ for cls in FORMS}) == len(FORMS)
    for cls, form in FORMS.items():
        assert form.hints, cls
        assert hasattr(cls, "stored_fields") or cls.__dataclass_params__.frozen


def test_every_field_is_written():
    """A field that is added to a type must not be lost in silence."""
    for cls, form in FORMS.items():
        if is_dataclass(cls):
            assert set(form.hints) == {field.name for field in fields(cls)}


def test_a_type_is_declared_once():
    @stored
    @dataclass(frozen=True)
    class Leaf:
        size: int
        shares: tuple[float, ...] = ()
        more: Mapping[str, "int | None"] | None = None

        def check_stored(self):
            expect(self.size > 0, "a size above 0")

        def holds_rows(self):
            return "is one row" if self.size == 1 else ""

    leaf = Leaf(2, (0.5, 1.0), {"a": 1, "b": None})
    assert through_a_file(leaf) == leaf
    with pytest.raises(StorageError, match="not sound: expected a size above 0"):
        through_a_file(Leaf(0))
    with pytest.raises(StorageError, match=r"nothing is written: thing is one row\."):
        pack_record("thing", Leaf(1), keep_rows=False)
    assert pack_record("thing", Leaf(2), keep_rows=False) == pack_record("thing", Leaf(2))


def test_records_can_be_converted():
    class Measure:
        """A protocol: nothing that can be stored."""

    @stored
    @dataclass(frozen=True)
    class Metres(Measure):
        number: float

    @stored
    @dataclass(frozen=True)
    class Feet(Measure):
        number: float

        def to_stored(self):
            return {"number": self.number * 12}

        @classmethod
        def from_stored(cls, number):
            if number > 100:
                raise ParameterError("too long")
            return cls(number / 12)

    @stored
    @dataclass(frozen=True)
    class Board:
        length: Annotated[Measure, StoredAs(Metres | Feet)]
        other: Annotated[Measure, StoredAs(Metres | Feet)] | None = None

    for board in (Board(Metres(2.0)), Board(Feet(3.0)), Board(Feet(3.0), Metres(1.0))):
        assert through_a_file(board) == board
    assert Writer().write(Feet(2.0), "thing") == {"type": "Feet", "number": 24.0}
    with pytest.raises(StorageError, match="not sound: too long"):
        through_a_file(Board(Feet(30.0)))
    with pytest.raises(StorageError, match="cannot be stored"):
        pack_record("thing", Board(Measure()))


def test_classes_that_cannot_be_stored():
    class Loose:
        pass

    @dataclass
    class Changing:
        size: int

    for cls in (Loose, Changing):
        with pytest.raises(TypeError, match="expected a frozen dataclass"):
            stored(cls)


def test_a_name_belongs_to_one_class():
    @dataclass(frozen=True)
    class Column:
        size: int

    with pytest.raises(TypeError, match=r"gapdrift\.tables\.schema stores a type of this name"):
        stored(Column)


def test_a_module_may_be_loaded_again():
    def define():
        @stored
        @dataclass(frozen=True)
        class Leaf:
            size: int

        return Leaf

    first, second = define(), define()
    assert first not in FORMS
    assert through_a_file(second(1)) == second(1)


@pytest.mark.parametrize("hint", [list[int], dict[str, int], Any, object, NDArray[np.float32], tuple[complex, ...]])
def test_annotations_without_a_rule_are_named(hint):
    @stored
    @dataclass(frozen=True)
    class Odd:
        right: int
        wrong: hint

    with pytest.raises(TypeError, match=r"Odd\.wrong is annotated"):
        pack_record("thing", Odd(1, None))


def test_infinity_is_asked_for():
    @stored
    @dataclass(frozen=True, eq=False)
    class Limits:
        limits: tuple[Annotated[NDArray[np.float64], INFINITE], ...]
        others: NDArray[np.float64]

    found = through_a_file(Limits((np.array([-np.inf, np.inf]),), np.zeros(1)))
    assert found.limits[0].tolist() == [-np.inf, np.inf]
    with pytest.raises(StorageError, match="finite"):
        through_a_file(Limits((np.array([np.nan]),), np.zeros(1)))
    with pytest.raises(StorageError, match="finite"):
        through_a_file(Limits((), np.array([np.inf])))


def test_expectations():
    expect_shape(np.zeros((2, 3)), (2, -1), "things")
    expect_range(np.array([0, 4]), 0, 5, "things")
    expect_range(np.array([]), 0, 0, "things")
    for wrong in ((2,), (3, -1), (2, 3, 1)):
        with pytest.raises(StorageError, match="of things, not"):
            expect_shape(np.zeros((2, 3)), wrong, "things")
    for number in (-1, 5):
        with pytest.raises(StorageError, match="things from 0 to 4"):
            expect_range(np.array([number]), 0, 5, "things")


@pytest.mark.parametrize("error", [ValueError, KeyError, ZeroDivisionError, TypeError, np.linalg.LinAlgError])
def test_what_numpy_refuses_is_an_error_of_ours(error):
    with pytest.raises(StorageError, match="expected things that work"), expecting("things that work"):
        raise error
    with pytest.raises(StorageError, match="more exactly"), expecting("things that work"):
        raise StorageError("more exactly")
    with pytest.raises(AssertionError), expecting("things that work"):
        raise AssertionError
