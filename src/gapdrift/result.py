"""What a test found: records without logic beyond showing themselves."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gapdrift.report.html import render
from gapdrift.report.plot import draw_feature, draw_features

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["BinFinding", "DriftResult", "FeatureFinding", "Finding", "Histogram"]


@dataclass(frozen=True)
class Finding:
    """One test: statistic, p-value, effect size.

    Parameters
    ----------
    name : str
    statistic : float
    degrees_of_freedom : int
    p_value : float
        Above 0 and at most 1; 1 where no test was possible.
    effect_size : float
    contributions : tuple of float
        What each bin adds to the statistic.
    reason : str
        Why no test was possible; empty where one was.
    parts : tuple of Finding
        The tests that were combined into this one, if any.

    Examples
    --------
    >>> Finding("pearson", 4.0, 1, 0.0455, 0.2).determined
    True
    """

    name: str
    statistic: float
    degrees_of_freedom: int
    p_value: float
    effect_size: float
    contributions: tuple[float, ...] = ()
    reason: str = ""
    parts: tuple["Finding", ...] = ()

    @property
    def determined(self) -> bool:
        """Whether a test was possible."""
        return not self.reason


@dataclass(frozen=True)
class Histogram:
    """Distribution of the observed cells of one column on both sides.

    Parameters
    ----------
    labels : tuple of str
        Levels of a category; empty for numbers.
    edges : tuple of float
        Limits of the intervals, one more than there are; empty for categories.
    reference, window : tuple of float
        Shares of the observed cells.

    Examples
    --------
    >>> Histogram(("red", "blue"), (), (0.5, 0.5), (0.25, 0.75)).window
    (0.25, 0.75)
    """

    labels: tuple[str, ...]
    edges: tuple[float, ...]
    reference: tuple[float, ...]
    window: tuple[float, ...]


@dataclass(frozen=True)
class FeatureFinding:
    """One input column: its gaps and, where the detector tests columns one by one, its values.

    Parameters
    ----------
    name : str
    missing_reference, missing_window : float
        Shares of missing cells.
    p_value, adjusted_p_value : float or None
        Of the column's values, alone and adjusted for the number of columns (Holm); None where the detector does
        not test single columns.
    effect_size : float or None
        How far the column moved, in standard deviations or in units of correlation.
    missing_p_value, adjusted_missing_p_value : float or None
        Of the column's share of missing cells.
    histogram : Histogram or None

    Examples
    --------
    >>> FeatureFinding("price", 0.1, 0.3).missing_window
    0.3
    """

    name: str
    missing_reference: float
    missing_window: float
    p_value: float | None = None
    adjusted_p_value: float | None = None
    effect_size: float | None = None
    missing_p_value: float | None = None
    adjusted_missing_p_value: float | None = None
    histogram: Histogram | None = None


@dataclass(frozen=True)
class BinFinding:
    """One bin: the share of rows in it, and what it adds to the statistic.

    Parameters
    ----------
    centre : mapping of str to float or str
        Values of the columns at the centre; for a category its most frequent level there.
    share_reference, share_window : float
    contribution : float
    description : str
        What sets the bin apart, in words.

    Examples
    --------
    >>> BinFinding({"price": 3.5}, 0.25, 0.5, 4.0).share_window
    0.5
    """

    centre: Mapping[str, float | str]
    share_reference: float
    share_window: float
    contribution: float
    description: str = ""


@dataclass(frozen=True)
class DriftResult:
    """Verdict of a detector on a window, with what led to it.

    Parameters
    ----------
    drift : bool or None
        None is undetermined: too little data to say; ``warnings`` says why.
    p_value : float
        Of the verdict; never 0, never NaN, 1 where undetermined.
    alpha : float
        Rate of false alarms asked for.
    n_reference, n_window : int
        Rows on each side.
    values : Finding
        Drift of the values.
    missingness : Finding or None
        Drift of the gaps, where the detector tests it.
    features : tuple of FeatureFinding
        One for each input column that takes part.
    bins : tuple of BinFinding
    warnings : tuple of str
        Sentences about anything that was ignored, replaced or doubtful.

    Examples
    --------
    >>> import numpy as np
    >>> import gapdrift as gd
    >>> rng = np.random.default_rng(0)
    >>> detector = gd.MDLFWF(random_state=0).fit(rng.normal(size=(500, 2)))
    >>> result = detector.test(rng.normal(1, 1, size=(500, 2)))
    >>> result.drift, result.p_value < 1e-9
    (True, True)
    >>> print(result.summary())
    DRIFT: the values of the window differ from the reference (p < 1e-9, alpha 0.05).
    Rows: 500 in the reference, 500 in the window.
    Test: pearson, statistic 322.7 with 9 degrees of freedom, effect size 0.47.
    Gaps: none.
    Note: The reference has few gaps: distances were learned with cells hidden at higher rates than its own.
    """

    drift: bool | None
    p_value: float
    alpha: float
    n_reference: int
    n_window: int
    values: Finding
    missingness: Finding | None = None
    features: tuple[FeatureFinding, ...] = ()
    bins: tuple[BinFinding, ...] = ()
    warnings: tuple[str, ...] = ()

    def summary(self) -> str:
        """Few lines for people: verdict, data, test, gaps, warnings."""
        notes = [f"Note: {text}" for text in self.warnings if self.drift is not None or text != self.values.reason]
        return "\n".join([_verdict(self), *_details(self), *notes])

    def to_dict(self) -> dict[str, Any]:
        """Result as plain dicts, lists, numbers and strings."""
        record: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return record

    def to_json(self, *, indent: int | None = None) -> str:
        """Result as JSON, without NaN or infinity."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Result as one HTML page that needs nothing else; written to ``path`` where one is given."""
        page = render(self.to_dict(), self.summary())
        if path is not None:
            Path(path).write_text(page, encoding="utf-8", errors="xmlcharrefreplace")
        return page

    def plot(self, feature: str | None = None) -> "Figure":
        """Chart of all columns, values beside gaps, or of the two distributions of one column.

        Parameters
        ----------
        feature : str, optional
            Name of a column.

        Returns
        -------
        figure : matplotlib Figure
            Needs the extra ``plot``.
        """
        record = self.to_dict()
        return draw_features(record) if feature is None else draw_feature(record, feature)


def format_p_value(p_value: float) -> str:
    """p-value for people.

    Examples
    --------
    >>> format_p_value(0.0312), format_p_value(1e-30)
    ('p = 0.031', 'p < 1e-9')
    """
    if p_value < 1e-9:
        return "p < 1e-9"
    return f"p = {p_value:.2g}" if p_value < 0.995 else f"p = {p_value:.2f}"


def _verdict(result: DriftResult) -> str:
    if result.drift is None:
        return f"UNDETERMINED: {result.values.reason}"
    tail = f"({format_p_value(result.p_value)}, alpha {result.alpha:g})"
    if result.drift:
        return f"DRIFT: the {_what_moved(result)} of the window differ from the reference {tail}."
    if result.p_value < result.alpha:
        return f"No drift worth an alarm: the {_what_moved(result)} of the window differ, but too little {tail}."
    subject = "values" if result.missingness is None else "values and gaps"
    return f"No drift found in the {subject} of the window {tail}."


def _what_moved(result: DriftResult) -> str:
    """Values, gaps, or both: whichever alarms on its own, else the one with the smaller p-value."""
    sides = [("values", result.values.p_value)] if result.values.determined else []
    if result.missingness is not None:
        sides.append(("gaps", result.missingness.p_value))
    alarms = [name for name, p_value in sides if p_value < result.alpha]
    return " and ".join(alarms) or min(sides, key=lambda side: side[1])[0]


def _details(result: DriftResult) -> list[str]:
    lines = [f"Rows: {result.n_reference} in the reference, {result.n_window} in the window."]
    lines += [_finding_line(finding) for finding in (result.values, result.missingness) if finding is not None]
    moved = [f.name for f in result.features if (f.adjusted_p_value or 1.0) < result.alpha]
    moved_gaps = [f.name for f in result.features if (f.adjusted_missing_p_value or 1.0) < result.alpha]
    lines += [f"Columns whose values moved: {_list(moved)}."] if moved else []
    lines += [f"Columns whose gaps moved: {_list(moved_gaps)}."] if moved_gaps else []
    gaps = [
        f"{feature.name} {feature.missing_reference:.0%} -> {feature.missing_window:.0%}"
        for feature in result.features
        if feature.missing_reference or feature.missing_window
    ]
    lines += [f"Gaps: {_list(gaps) or 'none'}."] if result.features else []
    return [line for line in lines if line]


def _finding_line(finding: Finding) -> str:
    if not finding.determined:
        return ""
    if not finding.parts:
        return (
            f"Test: {finding.name}, statistic {finding.statistic:.1f} with {finding.degrees_of_freedom} degrees of "
            f"freedom, effect size {finding.effect_size:.2f}."
        )
    parts = ", ".join(f"{part.name} {format_p_value(part.p_value)}" for part in finding.parts)
    whole = f"{format_p_value(finding.p_value)}, effect size {finding.effect_size:.2f}"
    return f"{finding.name.capitalize()}: {whole} ({parts})."


def _list(names: list[str], most: int = 8) -> str:
    """Names in one line, cut where they are many."""
    return " ".join((", ".join(names[:most]) + (" ..." if len(names) > most else "")).split())
