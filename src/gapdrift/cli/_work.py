"""What the commands do between their arguments and their output."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import gapdrift as gd
from gapdrift.cli._progress import progress
from gapdrift.detectors.reference import ReferenceDetector, compare_all_rows
from gapdrift.errors import InputError
from gapdrift.execution import MAX_LEARNED, reading_notes
from gapdrift.files import TableFiles, open_files

__all__ = ["compare", "count", "fit_reference", "judge_files", "load_detector", "plan_window"]

BATCH_SETTINGS = ("batch", "every", "time", "season", "time_zone")


def fit_reference(
    place: str, reading: Mapping[str, Any], settings: dict[str, Any]
) -> tuple[ReferenceDetector, tuple[str, ...]]:
    """Detector fitted on the rows of files, and notes about how they were read.

    Parameters
    ----------
    place : str
    reading : mapping
        Options of `gapdrift.files.open_files`.
    settings : dict
        ``method``, ``numbers``, ``reference_rows``, what batches are, and the parameters of the detector.
    """
    method, numbers, max_rows = map(settings.pop, ("method", "numbers", "reference_rows"))
    batches = _batch_settings(settings)
    files = open_files(place, **reading, numbers=numbers)
    # As `fit` draws the rows of a file.
    rng = np.random.default_rng(settings["random_state"]).spawn(1)[0]
    with progress("Reading the reference", files.size) as advance:
        sample, n_rows = files.sample(max_rows, rng, progress=advance)
    if batches and n_rows > len(sample):
        detector = _fit_in_chunks(_make(method, settings), files, batches, max_rows)
        detector.reading_ = files.reading
        return detector, reading_notes(files)
    with progress("Learning the reference", None):
        detector = _make(method, settings).fit(sample, **batches)
    detector.reading_ = files.reading
    if n_rows > len(sample):
        with progress("Counting the reference", files.size) as advance:
            tables = files.tables(like=detector, progress=advance)
            compare_all_rows(detector, map(detector.reference_.count, tables), sample)
    return detector, reading_notes(files)


def _batch_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """What a fit is told about batches; nothing where there are none."""
    batch, every, time, season, zone = (settings.pop(name, None) for name in BATCH_SETTINGS)
    if batch is not None and every is not None:
        raise InputError(f"--batch {batch} and --every {every} both say what a batch is. Leave one of them out.")
    if batch is None and every is None and time is None and not season:
        return {}
    return {"batches": batch if every is None else every, "time": time, "season": season, "time_zone": zone}


def _fit_in_chunks(
    detector: ReferenceDetector, files: TableFiles, batches: dict[str, Any], max_rows: int
) -> ReferenceDetector:
    """Detector fitted on files too large to be in memory, batch by batch."""
    if max_rows != MAX_LEARNED:
        raise InputError(
            f"The reference has more than the {max_rows} rows of --reference-rows. With batches, {MAX_LEARNED} rows "
            "are learned from: leave it out."
        )
    with progress("Learning and counting the reference", None):
        return detector.fit(files, **batches)


def count(detector: ReferenceDetector, place: str, reading: Mapping[str, Any]) -> tuple[gd.Evidence, tuple[str, ...]]:
    """Evidence of all rows of files, read in chunks, and notes about how they were read."""
    files = open_files(place, **reading, like=detector)
    with progress("Reading the window", files.size) as advance:
        total = detector.count(files.tables(like=detector, progress=advance))
    return total, files.notes


def judge_files(
    detector: ReferenceDetector,
    place: str,
    reading: Mapping[str, Any],
    notes: Sequence[str] = (),
    alpha: float | None = None,
    mismatch: str = "error",
) -> gd.DriftResult:
    """Result of the rows of files, or of stored evidence, against a reference."""
    if place.endswith(".gapdrift"):
        return detector.test(_stored_evidence(place), alpha=alpha)
    evidence, more = count(detector if mismatch == "error" else detector.tolerant(), place, reading)
    result = detector.test(evidence, alpha=alpha)
    return replace(result, warnings=(*notes, *result.warnings, *more))


def compare(
    reference: str, window: str, reading: Mapping[str, Any], settings: dict[str, Any], mismatch: str
) -> gd.DriftResult:
    """Result of the rows of some files against those of others."""
    if reference == window == "-":
        raise InputError("Reference and window are both -, the standard input, which can be read once. Name one file.")
    detector, notes = fit_reference(reference, reading, settings)
    return judge_files(detector, window, reading, notes, mismatch=mismatch)


def load_detector(path: str) -> ReferenceDetector:
    """Detector out of a gapdrift file."""
    thing = gd.load(path)
    if not isinstance(thing, ReferenceDetector):
        raise InputError(
            f"{path} holds a {type(thing).__name__}, expected a fitted detector. Make one with 'gapdrift fit'."
        )
    return thing


def plan_window(path: str, n_rows: int, power: float, alpha: float | None) -> gd.results.Sensitivity:
    """Smallest changes that a window of some rows finds, by a saved detector."""
    detector = load_detector(path)
    if not isinstance(detector, gd.DriftDetector):
        raise InputError(f"{path} holds a {type(detector).__name__}, expected a DriftDetector: the other has no plan.")
    with progress("Trying changes", len(detector.schema_.columns), steps=True) as advance:
        return detector.sensitivity(n_rows, power, alpha=alpha, progress=lambda: advance(1))


def _stored_evidence(path: str) -> gd.Evidence:
    thing = gd.load(path)
    if not isinstance(thing, gd.Evidence):
        raise InputError(f"{path} holds a {type(thing).__name__}, expected evidence or a table.")
    return thing


def _make(method: str, settings: dict[str, Any]) -> ReferenceDetector:
    if method == "default":
        return gd.DriftDetector(**settings)
    if settings.pop("min_effect"):
        raise InputError(
            "--min-effect is for the default detector: MDL-FWF has no such setting. Leave one of them out."
        )
    return gd.MDLFWF(**settings)
