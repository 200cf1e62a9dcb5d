"""Checks beside drift: plain rules about columns and rows, with limits that users set."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

from gapdrift.errors import ParameterError
from gapdrift.results.mismatches import Mismatch, read_mismatches

if TYPE_CHECKING:
    from gapdrift.results.result import DriftResult, FeatureFinding

__all__ = ["Check", "Limits", "run_checks"]


@dataclass(frozen=True)
class Check:
    """One rule, and whether a window keeps it.

    Parameters
    ----------
    name : str
        "columns", "types", "duplicates", "missing", "categories", "range", "constant" or "effect".
    column : str
        Empty if the rule is about the table.
    passed : bool
    message : str
        What was found, in a sentence.

    Examples
    --------
    >>> Check("missing", "price", False, "40 % of the cells are missing, expected at most 20 %.").passed
    False
    """

    name: str
    column: str
    passed: bool
    message: str


@dataclass(frozen=True)
class Limits:
    """Limits of the checks; those of a single column replace those of the table.

    Parameters
    ----------
    max_missing : float, optional
        Largest share of missing cells.
    max_missing_rise : float, default 0.1
        Largest rise of that share above the reference's; ignored if ``max_missing`` is given.
    max_other_type : float, default 0.01
        Largest share of cells of another type than the reference's, which count as missing.
    max_new_share : float, default 0.01
        Largest share of cells with a category that the reference does not have. Columns of many rare categories
        always have some: their drift is tested instead.
    minimum, maximum : float, optional
        Smallest and largest number allowed.
    range_slack : float, default 0.5
        How far numbers may lie beyond those of the reference, as a share of its range; ignored where ``minimum`` or
        ``maximum`` is given.
    max_effect : float, optional
        Largest effect size of a change of the values, whether it is significant or not.
    max_duplicate_rise : float, default 0.05
        Largest rise of the share of rows that are copies of another one. (Of the table only.)
    allow_constant : bool, default False
        Whether a column that had several values may have one.
    allow_new_columns : bool, default True
        Whether there may be columns that the reference does not have. (Of the table only.)
    ignore : bool, default False
        Whether to check nothing.

    Examples
    --------
    >>> Limits(max_missing=0.2).max_missing
    0.2
    """

    max_missing: float | None = None
    max_missing_rise: float = 0.1
    max_other_type: float = 0.01
    max_new_share: float = 0.01
    minimum: float | None = None
    maximum: float | None = None
    range_slack: float = 0.5
    max_effect: float | None = None
    max_duplicate_rise: float = 0.05
    allow_constant: bool = False
    allow_new_columns: bool = True
    ignore: bool = False

    def __post_init__(self) -> None:
        """Check that all limits are numbers, or yes or no."""
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(field.default, bool):
                if not isinstance(value, bool):
                    raise ParameterError(f"{field.name} is {value!r}, expected true or false.")
            elif value is not None and (isinstance(value, bool) or not isinstance(value, Real) or value != value):
                raise ParameterError(f"{field.name} is {value!r}, expected a number.")
            elif value is None and field.default is not None:
                raise ParameterError(f"{field.name} is None, expected a number.")

    def changed(self, where: str, given: Mapping[str, Any]) -> "Limits":
        """These limits with some of them replaced; an unknown one raises a ParameterError that says where it is."""
        known = [field.name for field in fields(self)]
        unknown = [str(name) for name in given if name not in known]
        if unknown:
            raise ParameterError(f"{where} has {', '.join(unknown)}, expected some of {', '.join(known)}.")
        return replace(self, **given)


def run_checks(
    result: "DriftResult",
    limits: Limits | None = None,
    columns: Mapping[str, Mapping[str, Any]] | None = None,
) -> tuple[Check, ...]:
    """Checks of a result, those that failed first.

    Parameters
    ----------
    result : DriftResult
    limits : Limits, optional
        For the table and for all columns.
    columns : mapping of str to mapping, optional
        Other limits of single columns: ``{"price": {"max_missing": 0.2, "minimum": 0}}``.

    Examples
    --------
    >>> import gapdrift as gd
    >>> rows = gd.datasets.stations(300, rng=0)
    >>> result = gd.compare(rows, gd.datasets.stations(300, rng=1, missing=0.5))
    >>> [check.column for check in run_checks(result) if not check.passed]
    ['temperature', 'humidity', 'pressure', 'wind', 'sky']
    >>> loose = Limits(max_missing=0.9)
    >>> [check.message for check in run_checks(result, loose, {"sky": {"max_missing": 0.4}}) if not check.passed]
    ['... % of the cells are missing, expected at most 40 %.']
    """
    general = limits or Limits()
    own = dict(columns or {})
    absent = [name for name in own if name not in {feature.name for feature in result.features}]
    if absent and result.features:
        raise ParameterError(f"There are limits for the column(s) {', '.join(absent)}, which were not compared.")
    differing = read_mismatches(result.warnings)
    found = [] if general.ignore else list(_check_table(result, differing, general))
    for feature in result.features:
        of_column = [each for each in differing if each.column == feature.name]
        limits_of = general.changed(f"column {feature.name}", own.get(feature.name, {}))
        found += _check_column(feature, of_column, result.n_window, limits_of)
    return tuple(sorted(found, key=lambda check: check.passed))


def _check_table(result: "DriftResult", differing: list[Mismatch], limits: Limits) -> Iterator[Check]:
    new = [each.column for each in differing if each.kind in {"new", "unexpected"}]
    words = f"New columns: {', '.join(new)}." if new else "No new columns."
    yield Check("columns", "", limits.allow_new_columns or not new, words)
    compared = {feature.name for feature in result.features}
    for each in differing:
        # A window of too few rows has no findings about columns.
        if each.kind in {"absent", "type"} and each.column not in compared:
            yield Check("columns" if each.kind == "absent" else "types", each.column, False, each.sentence)
    if result.duplicates is not None:
        before, after = result.duplicates
        words = f"{_percent(after)} of the rows are copies of another one, {_percent(before)} in the reference."
        yield Check("duplicates", "", after - before <= limits.max_duplicate_rise, words)


def _check_column(feature: "FeatureFinding", differing: list[Mismatch], n_rows: int, limits: Limits) -> Iterable[Check]:
    if limits.ignore:
        return []
    absent = [each.sentence for each in differing if each.kind == "absent"]
    found = [Check("columns", feature.name, not absent, absent[0] if absent else "The window has this column.")]
    found += [] if absent else [_check_type(feature, differing, n_rows, limits)]
    found.append(_check_missing(feature, limits))
    if feature.missing_window < 1.0:
        found += [_check_new(feature, limits), _check_constant(feature, limits)]
        found += _check_range(feature, limits)
        if limits.max_effect is not None and feature.tested:
            words = f"The effect size is {feature.effect_size:.2f}, expected at most {limits.max_effect:g}."
            found.append(Check("effect", feature.name, feature.effect_size <= limits.max_effect, words))
    return found


def _check_type(feature: "FeatureFinding", differing: list[Mismatch], n_rows: int, limits: Limits) -> Check:
    others = [each for each in differing if each.kind in {"type", "cells"}]
    n_cells = sum(n_rows if each.kind == "type" else each.n_cells for each in others)
    words = others[0].sentence if others else "All cells are of the same type as in the reference."
    return Check("types", feature.name, n_cells <= limits.max_other_type * n_rows, words)


def _check_missing(feature: "FeatureFinding", limits: Limits) -> Check:
    share = feature.missing_window
    limit = feature.missing_reference + limits.max_missing_rise if limits.max_missing is None else limits.max_missing
    most = min(limit, 1.0)
    # As many digits as it takes to see that a limit is passed.
    digits = next((n for n in range(3, 15) if share <= limit or f"{share:.{n}g}" != f"{most:.{n}g}"), 15)
    words = f"{_percent(share, digits)} of the cells are missing, expected at most {_percent(most, digits)}."
    return Check("missing", feature.name, share <= limit, words)


def _check_new(feature: "FeatureFinding", limits: Limits) -> Check:
    share = feature.n_new_cells / max(feature.observed_window, 1)
    named = ", ".join(f"{name!r} ({count:,})" for name, count in list(feature.new_categories.items())[:3])
    words = f"New values in {_percent(share)} of the cells: {named}." if feature.n_new_cells else "No new values."
    return Check("categories", feature.name, feature.has_many or share <= limits.max_new_share, words)


def _check_constant(feature: "FeatureFinding", limits: Limits) -> Check:
    histogram, window = feature.histogram, feature.range_window
    was, is_now = feature.range_reference, window is not None and window[0] == window[1]
    if histogram is not None and histogram.labels and window is None:
        is_now = sum(share > 0 for share in histogram.window) == 1
        was_several = sum(share > 0 for share in histogram.reference) > 1
    else:
        was_several = was is not None and was[0] < was[1]
    turned = is_now and was_several and feature.observed_window > 1
    words = "Only one value is left." if turned else "No column of several values has become constant."
    return Check("constant", feature.name, limits.allow_constant or not turned, words)


def _check_range(feature: "FeatureFinding", limits: Limits) -> Iterator[Check]:
    if feature.range_window is None or feature.range_reference is None:
        return
    (low, high), (before, after) = feature.range_window, feature.range_reference
    slack = limits.range_slack * (after - before)
    given = limits.minimum is not None or limits.maximum is not None
    least = limits.minimum if given else before - slack
    most = limits.maximum if given else after + slack
    inside = (least is None or low >= least) and (most is None or high <= most)
    allowed = " to ".join("any" if limit is None else f"{limit:.6g}" for limit in (least, most))
    yield Check("range", feature.name, inside, f"Values from {low:.6g} to {high:.6g}, expected {allowed}.")


def _percent(share: float, digits: int = 3) -> str:
    return f"{100.0 * share:.{digits}g} %"
