from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa

from gapdrift.files._cells import CellConverter, converter_like, infer_kinds
from gapdrift.tables.schema import learn_schema


def test_numbers_in_every_way_they_are_written():
    cells = ["1", " 2.5 ", "-3e2", "+4", ".5", "6.", "true", "FALSE", None, "x", "1,5", "inf", "0x1"]
    converter = CellConverter({"a": "number"})
    found = converter(pa.table({"a": cells}))["a"].to_pylist()
    assert found == [1.0, 2.5, -300.0, 4.0, 0.5, 6.0, 1.0, 0.0, None, None, None, np.inf, None]
    converter(pa.table({"a": ["y"]}))
    assert converter.notes() == ["Column 'a' has 4 cell(s) that are not numbers, such as 'x': they count as missing."]


def test_words_for_missing_in_text_and_numbers():
    table = pa.table(
        {"a": ["-200.0", " ? ", "x"], "b": [-200, 1, 2], "c": [-200.0, None, np.nan], "d": [True, False, None]}
    )
    found = CellConverter({}, missing=["-200", "?"])(table).to_pydict()
    assert found["a"] == [None, None, "x"]
    assert found["b"] == [None, 1, 2]
    assert found["c"][:2] == [None, None]
    assert found["d"] == [True, False, None]


def test_dictionaries_and_views_are_plain_text():
    table = pa.table({"a": pa.array(["1", "2"]).dictionary_encode(), "b": pa.array(["x", None], pa.string_view())})
    found = CellConverter({"a": "number", "b": "text"})(table)
    assert found.to_pydict() == {"a": [1.0, 2.0], "b": ["x", None]}


def test_kinds_by_looking():
    table = pa.table(
        {
            "number": ["1", "2.5", None],
            "flag": ["true", "False", None],
            "code": ["007", "010", "1"],
            "mixed": ["1", "x", None],
            "empty": pa.array([None, None, None], pa.string()),
            "typed": [1, 2, 3],
            "wanted": ["a", "1", "2"],
        }
    )
    assert infer_kinds(table, ["wanted"]) == {
        "wanted": "number",
        "number": "number",
        "flag": "number",
        "code": "text",
        "mixed": "text",
        "empty": "text",
    }


def test_text_that_stands_for_a_category_is_written_like_it():
    categories = {"a": frozenset({"1", "0.1", "True", "3.10", "x"})}
    cells = ["1", "1.0", "1e0", "0.10", "true", "3.10", "3.1", " x", "007", None, "y"]
    found = CellConverter(categories=categories)(pa.table({"a": cells}))["a"].to_pylist()
    assert found == ["1", "1", "1", "0.1", "True", "3.10", "3.1", "x", "007", None, "y"]


def test_a_window_is_read_as_the_reference_was():
    frame = pd.DataFrame({"n": [1.5, 2.5] * 20, "c": ["x", "y"] * 20, "e": [None] * 40})
    schema = learn_schema(frame)
    written = converter_like(schema, ["?"], is_text=True)
    assert written == CellConverter({"n": "number"}, ["?"], {"c": frozenset({"x", "y"})}, is_text=True)
    assert converter_like(schema, is_text=False) == CellConverter({"n": "number"})


def test_a_few_spoilt_cells_leave_a_column_of_numbers():
    cells = [str(number) for number in range(95)]
    assert infer_kinds(pa.table({"a": [*cells, *(["spoilt"] * 5)]})) == {"a": "number"}
    assert infer_kinds(pa.table({"a": [*cells, *(["spoilt"] * 6)]})) == {"a": "text"}


def test_decimals_know_words_for_missing():
    cells = pa.array([Decimal("-200.0"), Decimal("1.5")])
    assert CellConverter(missing=["-200"])(pa.table({"a": cells}))["a"].to_pylist() == [None, Decimal("1.5")]
