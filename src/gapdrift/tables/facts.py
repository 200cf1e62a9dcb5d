"""What rows tell beside sums: the extremes of each column, counts of what has no place of its own, and copies of rows.

Categories that are too many to be columns are tested by it (`gapdrift.inference.many_categories`). It names new values,
tells the range of numbers, and finds duplicate rows. It keeps the one law: the facts of two tables together are those
of the one added to those of the other, whatever was cut.
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gapdrift._typing import Indices, Matrix, Vector
from gapdrift.persistence.records import INFINITE, expect, expect_shape, stored

__all__ = [
    "MAX_TALLIED",
    "Codes",
    "ColumnFacts",
    "Facts",
    "Tally",
    "add_tallies",
    "count_copies",
    "cut_tally",
    "empty_facts",
    "hash_numbers",
    "hash_text",
    "mixers",
    "tally_threshold",
    "up_to",
]

Codes = NDArray[np.uint64]

Tally = Mapping[str, int]
"""Number of cells of one column by what they hold."""

MAX_TALLIED = 10_000
"""Different values of one column in a tally, at most: those with the smallest hashes stay, with their exact counts."""

MAX_HASHES = 1_024
"""Different rows of which copies are counted, at most: those with the smallest hashes."""


class ColumnFacts(NamedTuple):
    """Facts about one column: what `Facts` has of it."""

    tally: Tally
    smallest: float
    largest: float


@stored
@dataclass(frozen=True, eq=False)
class Facts:
    """Facts about rows, to be added to those of others.

    Parameters
    ----------
    smallest, largest : (input columns,) arrays
        Of numbers; infinite where there are none.
    tallies : tuple of mappings of str to int
        For each column, how often what occurs that has no place of its own in the sums: categories without a matrix
        column; new numbers, where the reference has only a few different ones.
    hashes, copies : (rows,) arrays of int
        Hashes of different rows, and how often each occurs. Rows that miss half of their cells are left out.
    """

    smallest: Annotated[Vector, INFINITE]
    largest: Annotated[Vector, INFINITE]
    tallies: tuple[Mapping[str, int], ...]
    hashes: Indices
    copies: Indices

    def __add__(self, other: "Facts") -> "Facts":
        """Facts about both sets of rows."""
        return Facts(
            np.minimum(self.smallest, other.smallest),
            np.maximum(self.largest, other.largest),
            tuple(add_tallies(one, two) for one, two in zip(self.tallies, other.tallies, strict=True)),
            *_add_copies((self.hashes, self.copies), (other.hashes, other.copies)),
        )

    def check_stored(self) -> None:
        """Check what was read from a file: as many of each, and counts above 0."""
        n_columns = len(self.tallies)
        expect_shape(self.smallest, (n_columns,), "the smallest numbers")
        expect_shape(self.largest, (n_columns,), "the largest numbers")
        expect(all(len(tally) <= MAX_TALLIED for tally in self.tallies), f"up to {MAX_TALLIED} values of a column")
        expect(all(count > 0 for tally in self.tallies for count in tally.values()), "counts above 0")
        expect_shape(self.copies, self.hashes.shape, "copies of rows")
        expect(self.hashes.ndim == 1 and len(self.hashes) <= MAX_HASHES, f"up to {MAX_HASHES} rows")
        expect(len(np.unique(self.hashes)) == len(self.hashes) and np.all(self.copies > 0), "copies of different rows")

    def with_rows(self, codes: Codes) -> "Facts":
        """The same facts, and how often further rows occur, given by what columns add to their hashes."""
        largest = int(self.hashes.max()) if len(self.hashes) == MAX_HASHES else None
        hashes, copies = _add_copies((self.hashes, self.copies), count_copies(codes, largest))
        return replace(self, hashes=hashes, copies=copies)

    def of_column(self, place: int) -> ColumnFacts:
        """What is known of one column."""
        return ColumnFacts(self.tallies[place], float(self.smallest[place]), float(self.largest[place]))

    @property
    def duplicate_share(self) -> float:
        """Share of the rows that are copies of another one; estimated where there are many different rows."""
        total = int(self.copies.sum())
        return (total - len(self.copies)) / total if total else 0.0


def empty_facts(n_columns: int) -> Facts:
    """Facts about no rows."""
    none = np.zeros(0, dtype=np.intp)
    return Facts(np.full(n_columns, np.inf), np.full(n_columns, -np.inf), ({},) * n_columns, none, none)


def add_tallies(one: Tally, two: Tally) -> Tally:
    """Counts of both; of too many values those with the smallest hashes, which are the same in whatever order.

    Examples
    --------
    >>> add_tallies({"a": 1, "b": 2}, {"b": 1})
    {'a': 1, 'b': 3}
    """
    if not one or not two:
        return cut_tally(one or two)
    total = dict(one)
    for value, count in two.items():
        total[value] = total.get(value, 0) + count
    return cut_tally(total)


def cut_tally(tally: Tally) -> Tally:
    """Tally of at most `MAX_TALLIED` values: those with the smallest hashes."""
    if len(tally) <= MAX_TALLIED:
        return tally
    return {value: tally[value] for value in sorted(tally, key=_rank)[:MAX_TALLIED]}


def tally_threshold(tally: Tally) -> tuple[int, str] | None:
    """Rank up to which a tally has all values that occurred; None if it has all of them."""
    return max(map(_rank, tally)) if len(tally) >= MAX_TALLIED else None


def up_to(tally: Tally, threshold: tuple[int, str] | None) -> Tally:
    """Part of a tally up to the threshold of another."""
    return tally if threshold is None else {value: n for value, n in tally.items() if _rank(value) <= threshold}


def _rank(value: str) -> tuple[int, str]:
    return zlib.crc32(value.encode(errors="surrogatepass")), value


def hash_numbers(numbers: Matrix, mixed: Codes) -> Codes:
    """What columns of numbers add to the hash of each row; 0 and -0 add the same.

    Parameters
    ----------
    numbers : (columns, rows) array
    mixed : (columns,) array of uint64
        Number that belongs to each column (`mixers`).
    """
    bits = (numbers + 0.0).view(np.uint64)
    # Whole numbers differ in their first bits only, which a product would push out.
    bits ^= bits >> np.uint64(31)
    bits *= mixed[:, None]
    return np.asarray(bits.sum(axis=0), dtype=np.uint64)


def hash_text(text: str) -> int:
    """Hash of a category, to be multiplied by the mixer of its column."""
    data = text.encode(errors="surrogatepass")
    return zlib.crc32(data) << 32 | zlib.crc32(data, 0xFFFF)


def mixers(n_columns: int) -> Codes:
    """Odd numbers of 64 bits, always the same ones.

    What tells a row from others is a sum over its columns, each times such a number, modulo 2^64. They are drawn at
    random: with numbers in a progression the cells of categories would add up to the same in many ways.
    """
    drawn = np.random.default_rng(20_002).integers(2**63, size=n_columns, dtype=np.uint64)
    return np.asarray(2 * drawn + 1, dtype=np.uint64)


def count_copies(codes: Codes, largest: int | None = None) -> tuple[Indices, Indices]:
    """Hashes of different rows, the smallest ones, and how often each occurs.

    Parameters
    ----------
    codes : (rows,) array of uint64
    largest : int, optional
        Hash above which rows are left out.

    Examples
    --------
    >>> hashes, copies = count_copies(np.array([7, 9, 7], dtype=np.uint64))
    >>> copies.tolist()
    [2, 1]
    """
    # Positive numbers of 63 bits, as whole numbers are stored.
    hashes = (codes ^ (codes >> np.uint64(32))) >> np.uint64(1)
    if largest is not None:
        hashes = hashes[hashes <= np.uint64(largest)]
    if len(hashes) > 8 * MAX_HASHES:
        few = hashes[hashes <= np.partition(hashes, 4 * MAX_HASHES)[4 * MAX_HASHES]]
        different, copies = np.unique(few, return_counts=True)
        if len(different) >= MAX_HASHES:
            return _first_copies(different, copies)
    return _first_copies(*np.unique(hashes, return_counts=True))


def _first_copies(hashes: NDArray[Any], copies: NDArray[Any]) -> tuple[Indices, Indices]:
    return hashes[:MAX_HASHES].astype(np.intp), copies[:MAX_HASHES].astype(np.intp)


def _add_copies(one: tuple[Indices, Indices], two: tuple[Indices, Indices]) -> tuple[Indices, Indices]:
    if not len(two[0]):
        return one
    hashes, places = np.unique(np.concatenate([one[0], two[0]]), return_inverse=True)
    copies = np.bincount(places, np.concatenate([one[1], two[1]]), len(hashes)).astype(np.intp)
    return _first_copies(hashes, copies)
