"""What the commands do between their arguments and their output."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import gapdrift as gd
from gapdrift.cli._progress import progress
from gapdrift.detectors.base import Detector
from gapdrift.errors import InputError
from gapdrift.execution import sample_notes
from gapdrift.files import Cleaner, CsvFormat, Source, as_in_reference, infer_kinds, open_source, sample_rows

__all__ = ["Reading", "compare", "count", "fit_reference", "load_detector", "test_window"]


@dataclass(frozen=True)
class Reading:
    """How files are to be read, as the options say."""

    kind: str | None
    separator: str | None
    decimal: str | None
    encoding: str | None
    missing: tuple[str, ...]

    def open(self, place: str) -> Source:
        """Files behind a path, a folder or a glob."""
        return open_source(place, kind=self.kind, csv=CsvFormat(self.separator, self.decimal, self.encoding))


def fit_reference(place: str, reading: Reading, settings: dict[str, Any]) -> tuple[Detector, tuple[str, ...]]:
    """Detector fitted on the rows of files, and notes about how they were read.

    Parameters
    ----------
    place : str
    reading : Reading
    settings : dict
        ``method``, ``numbers``, ``reference_rows`` and the parameters of the detector.
    """
    numbers, most = settings.pop("numbers"), settings.pop("reference_rows")
    method = settings.pop("method")
    source = reading.open(place)
    rng = np.random.default_rng(settings["random_state"])
    with progress("Reading the reference", source.size) as advance:
        sample, n_rows = sample_rows(source.chunks(progress=advance), most, rng)
    _check_columns(sample.column_names, {"--number": numbers})
    sample = Cleaner(missing=reading.missing)(sample)
    cleaner = Cleaner(infer_kinds(sample, numbers) if source.format == "csv" else dict.fromkeys(numbers, "number"))
    sample = cleaner(sample)
    with progress("Learning the reference", None):
        detector = _make(method, settings).fit(sample)
    return detector, (*sorted(source.notes), *cleaner.notes(), *sample_notes(n_rows, len(sample)))


def count(detector: Detector, place: str, reading: Reading) -> tuple[gd.Evidence, tuple[str, ...]]:
    """Evidence of all rows of files, read in chunks, and notes about how they were read."""
    source = reading.open(place)
    cleaner = as_in_reference(detector.reference_.schema, reading.missing, written=source.format == "csv")
    total = detector.evidence_.zero()
    with progress("Reading the window", source.size) as advance:
        for chunk in source.chunks(progress=advance):
            total += detector.count(cleaner(chunk))
    return total, (*sorted(source.notes), *cleaner.notes())


def test_window(
    detector: Detector, place: str, reading: Reading, notes: Sequence[str] = (), alpha: float | None = None
) -> gd.DriftResult:
    """Result of the rows of files, or of stored evidence, against a reference."""
    if place.endswith(".gapdrift"):
        return detector.test(_stored_evidence(place), alpha=alpha)
    evidence, more = count(detector, place, reading)
    result = detector.test(evidence, alpha=alpha)
    return replace(result, warnings=(*notes, *result.warnings, *more))


def compare(reference: str, window: str, reading: Reading, settings: dict[str, Any]) -> gd.DriftResult:
    """Result of the rows of some files against those of others."""
    detector, notes = fit_reference(reference, reading, settings)
    return test_window(detector, window, reading, notes)


def load_detector(path: str) -> Detector:
    """Detector out of a gapdrift file."""
    thing = gd.load(path)
    if not isinstance(thing, Detector):
        raise InputError(
            f"{path} holds a {type(thing).__name__}, expected a fitted detector. Make one with 'gapdrift fit'."
        )
    return thing


def _stored_evidence(path: str) -> gd.Evidence:
    thing = gd.load(path)
    if not isinstance(thing, gd.Evidence):
        raise InputError(f"{path} holds a {type(thing).__name__}, expected evidence or a table.")
    return thing


def _check_columns(names: Sequence[str], wanted: dict[str, Sequence[str]]) -> None:
    for option, columns in wanted.items():
        absent = [column for column in columns if column not in names]
        if absent:
            raise InputError(
                f"{option} names the column(s) {', '.join(absent)}, which the reference does not have. It has: "
                f"{', '.join(names)}."
            )


def _make(method: str, settings: dict[str, Any]) -> Detector:
    if method == "default":
        return gd.DriftDetector(**settings)
    if settings.pop("min_effect"):
        raise InputError(
            "--min-effect is for the default detector: MDL-FWF has no such setting. Leave one of them out."
        )
    return gd.MDLFWF(**settings)
