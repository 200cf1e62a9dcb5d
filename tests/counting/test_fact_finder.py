"""Facts that are no sums: they add up over any split of the rows."""

import numpy as np
import pytest

from gapdrift.counting.fact_finder import FactFinder, OutOfRangeError
from gapdrift.tables.encoding import Encoded


def facts_of(kind, parts):
    finder = FactFinder(kind.functions.owner, kind.functions.is_number)
    for part in parts:
        finder.add(part)
    return finder.facts


def split(rows, cuts):
    places = np.split(np.arange(len(rows)), cuts)
    return [Encoded(rows.values[own], rows.missing[own], codes=rows.codes[own]) for own in places]


def test_facts_of_parts_add_up(kind, rng):
    rows = Encoded(kind.rows.values, kind.rows.missing, codes=kind.rows.codes)
    parts = split(rows, np.sort(rng.integers(0, len(rows), 3)))
    one, two = (facts_of(kind, part) for part in (parts[:2], parts[2:]))
    for found in (one + two, facts_of(kind, parts)):
        for name in ("smallest", "largest", "hashes", "copies"):
            assert np.array_equal(getattr(found, name), getattr(facts_of(kind, [rows]), name)), name


def test_extremes_are_those_of_numbers(kind):
    found = facts_of(kind, [kind.rows])
    for place, is_number in enumerate(kind.functions.is_number.tolist()):
        own = kind.rows.values[:, kind.functions.owner == place]
        present = own[~np.isnan(own)] if is_number else np.zeros(0)
        expected = present.min(initial=np.inf), present.max(initial=-np.inf)
        assert (found.smallest[place], found.largest[place]) == expected


def test_copies_of_rows_are_counted_and_those_of_hardly_observed_rows_are_not():
    rows = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [0.0, 2.0, np.nan], [-0.0, 2.0, np.nan], [1.0, np.nan, np.nan]])
    finder = FactFinder(np.arange(3), np.ones(3, dtype=bool))
    finder.add(rows)
    assert finder.facts.copies.tolist() == [2, 2]
    assert finder.facts.duplicate_share == 0.5


@pytest.mark.parametrize("number", [np.inf, -np.inf, 1e101, -1e101])
def test_numbers_out_of_range_are_refused(number):
    finder = FactFinder(np.arange(1), np.ones(1, dtype=bool))
    with pytest.raises(OutOfRangeError):
        finder.add(np.array([[1.0], [number], [np.nan]]))
