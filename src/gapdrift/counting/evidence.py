"""Evidence: the sums that a test needs, which add up over any split of the rows.

The one law of this library: ``count(A ++ B) == count(A) + count(B)``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapdrift.errors import EvidenceError
from gapdrift.persistence.records import expect, stored
from gapdrift.tables.facts import Facts, empty_facts

__all__ = ["Evidence"]


@stored
@dataclass(frozen=True, eq=False)
class Evidence:
    """Sums over rows, to be added up and tested.

    Parameters
    ----------
    n_rows : int
        Rows counted.
    sums : mapping of str to array
        Each the sum of one array per row.
    origin : str
        Fingerprint of the fitted reference that counted; only evidence of one origin adds up.
    notes : frozenset of str
        Sentences for the user about the rows counted; adding unites them.
    facts : Facts or None
        What rows tell beside sums, such as extremes and new categories; None if the detector gathers none.

    Examples
    --------
    >>> import numpy as np
    >>> import gapdrift as gd
    >>> rows = np.random.default_rng(0).normal(size=(300, 2))
    >>> detector = gd.MDLFWF(random_state=0).fit(rows)
    >>> total = detector.count(rows[:100]) + detector.count(rows[100:])
    >>> total.n_rows, float(total.sums["weights"].sum())
    (300, 300.0)
    >>> sum([total, total]).n_rows
    600
    """

    n_rows: int
    sums: Mapping[str, NDArray[np.float64]]
    origin: str = ""
    notes: frozenset[str] = field(default_factory=frozenset)
    facts: Facts | None = None

    def __post_init__(self) -> None:
        """Check the sums, and keep them from being changed from outside."""
        if isinstance(self.n_rows, bool) or not isinstance(self.n_rows, int | np.integer) or self.n_rows < 0:
            raise EvidenceError(f"n_rows is {self.n_rows!r}, expected a whole number from 0.")
        try:
            frozen = {name: np.array(array, dtype=float) for name, array in self.sums.items()}
        except (TypeError, ValueError, AttributeError) as error:
            raise EvidenceError("sums is no mapping of names to arrays of numbers.") from error
        for name, array in frozen.items():
            if not np.isfinite(array).all():
                raise EvidenceError(f"The sum {name!r} has NaN or infinite entries, expected finite numbers.")
            array.setflags(write=False)
        object.__setattr__(self, "sums", MappingProxyType(frozen))
        object.__setattr__(self, "notes", frozenset(self.notes))

    def __add__(self, other: Any) -> "Evidence":
        """Evidence of both sets of rows."""
        if not isinstance(other, Evidence):
            return NotImplemented
        self.check_like(other)
        return Evidence(
            self.n_rows + other.n_rows,
            {name: array + other.sums[name] for name, array in self.sums.items()},
            self.origin,
            self.notes | other.notes,
            None if self.facts is None or other.facts is None else self.facts + other.facts,
        )

    def __radd__(self, other: Any) -> "Evidence":
        """Let the built-in ``sum``, which starts at 0, add evidence."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def zero(self) -> "Evidence":
        """Evidence of no rows, which changes nothing it is added to."""
        facts = None if self.facts is None else empty_facts(len(self.facts.tallies))
        return Evidence(0, {name: np.zeros_like(array) for name, array in self.sums.items()}, self.origin, facts=facts)

    def __reduce__(self) -> tuple[Any, ...]:
        """Let evidence travel between processes: a mapping proxy does not."""
        return Evidence, (self.n_rows, dict(self.sums), self.origin, self.notes, self.facts)

    def check_like(self, other: "Evidence") -> None:
        """Raise an `EvidenceError` where the other evidence was counted by another reference."""
        shapes = {name: array.shape for name, array in self.sums.items()}
        if self.origin != other.origin or shapes != {n: a.shape for n, a in other.sums.items()}:
            raise EvidenceError(
                f"Evidence counted by the reference {self.origin or '(none)'} and by the reference "
                f"{other.origin or '(none)'} do not belong together. Count both with the same fitted detector."
            )

    @classmethod
    def from_stored(cls, sums: dict[str, NDArray[np.float64]], **rest: Any) -> "Evidence":
        """Evidence of what was read from a file; its arrays are copied one by one, since two of each are too many."""
        handed = _HandedOver(sums)
        sums.clear()
        return cls(sums=handed, **rest)

    def check_stored(self) -> None:
        """Check what was read from a file: rows can be counted in double precision."""
        expect(self.n_rows <= 2**53, "at most 2^53 rows")

    def check_stored_sums(self, origin: str, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Check that what was read from a file is the evidence of a reference itself, with sums of these shapes."""
        expect(self.n_rows > 0, "a reference with rows")
        expect(self.origin == origin, "evidence of its own reference")
        expect({name: array.shape for name, array in self.sums.items()} == shapes, f"the sums {shapes}")


class _HandedOver(dict[str, NDArray[np.float64]]):
    """Arrays that are given away one by one, and forgotten."""

    def items(self) -> Any:
        for name in list(self):
            yield name, self.pop(name)
