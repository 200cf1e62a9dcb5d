"""SeasonTerms terms: what day, week and year say of a time, as numbers whose sums over rows add up."""

from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from gapdrift._typing import Matrix, Vector
from gapdrift.errors import InputError, ParameterError
from gapdrift.persistence.records import expect, stored
from gapdrift.tables.frame import Table
from gapdrift.tables.spans import DAY, MONDAY, check_zone, local_times
from gapdrift.tables.times import Micros, times_of

__all__ = ["SEASONS", "SeasonTerms", "check_seasons"]

SEASONS = {"day": float(DAY), "week": 7.0 * DAY, "year": 365.2425 * DAY}
"""Lengths of the seasons, in microseconds."""

MAX_HARMONICS = 2

TERM_STEPS = 2.0**20
"""Whole steps per unit of a term: sums over rows are then exact, in whatever order they are added up."""


@stored
@dataclass(frozen=True)
class SeasonTerms:
    """Seasons that rows are compared with, and where their times are.

    Parameters
    ----------
    time_column : str
    seasons : tuple of {"day", "week", "year"}
    harmonics : int
        Sines and cosines of each season.
    time_zone : str or None
        Of days and weeks; None means UTC.
    """

    time_column: str
    seasons: tuple[str, ...]
    harmonics: int = 1
    time_zone: str | None = None

    @property
    def n_terms(self) -> int:
        """Number of terms."""
        return 2 * self.harmonics * len(self.seasons)

    @property
    def zone(self) -> ZoneInfo | None:
        """Time zone of days and weeks."""
        return check_zone("time_zone", self.time_zone)

    def terms(self, times: Micros) -> Matrix:
        """Terms of each time: (times, terms).

        Examples
        --------
        >>> SeasonTerms("when", ("day",)).terms(np.array([6 * 3_600_000_000])).round(9).tolist()
        [[0.0, 1.0]]
        """
        local = (local_times(times, self.zone) - MONDAY).astype(float)
        angles = [
            2.0 * np.pi * harmonic * np.mod(local / SEASONS[season], 1.0)
            for season in self.seasons
            for harmonic in range(1, self.harmonics + 1)
        ]
        found = np.column_stack([turn(angle) for angle in angles for turn in (np.cos, np.sin)])
        return np.asarray(np.rint(found * TERM_STEPS) / TERM_STEPS)

    def sums(self, table: Any) -> Vector:
        """Sums of the terms over the rows of a table: (terms,); every row has to have its time."""
        source = Table.read(table)
        if self.time_column not in source.names:
            raise InputError(
                f"The window has no column {self.time_column!r}, expected the time of each row: it is compared with "
                f"what is usual at its time of the {' and '.join(self.seasons)}."
            )
        times, missing = times_of(source, self.time_column)
        if missing.any():
            raise InputError(
                f"{int(missing.sum())} row(s) have no time in column {self.time_column!r}, expected one in each: what "
                "is usual depends on it. Fill them in, or leave these rows out."
            )
        return np.asarray(self.terms(times).sum(axis=0) if len(times) else np.zeros(self.n_terms))

    def check_stored(self) -> None:
        """Check what was read from a file: known seasons, few terms."""
        expect(set(self.seasons) <= set(SEASONS) and len(set(self.seasons)) == len(self.seasons), "known seasons")
        expect(self.seasons and 1 <= self.harmonics <= MAX_HARMONICS, "some seasons, one or two harmonics")


def check_seasons(value: Any) -> tuple[str, ...]:
    """Seasons as a tuple; one may be given by its name alone.

    Examples
    --------
    >>> check_seasons("week"), check_seasons(["day", "year"])
    (('week',), ('day', 'year'))
    """
    seasons = (value,) if isinstance(value, str) else value
    if not isinstance(seasons, tuple | list) or not all(isinstance(season, str) for season in seasons):
        raise ParameterError(f'season is {value!r}, expected some of {", ".join(SEASONS)}, such as ("day", "week").')
    unknown = [season for season in seasons if season not in SEASONS]
    if unknown:
        raise ParameterError(f"season has {', '.join(map(repr, unknown))}, expected some of {', '.join(SEASONS)}.")
    return tuple(dict.fromkeys(seasons))
