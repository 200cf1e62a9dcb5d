"""The records of a result; the code that shows them is imported when it is needed."""

# ruff: noqa: PLC0415

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

from gapdrift._text import printable
from gapdrift._writing import write_file
from gapdrift.errors import ParameterError
from gapdrift.persistence.records import expect, stored
from gapdrift.results.checks import Check, run_checks
from gapdrift.results.usual import UsualVariation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "BinFinding",
    "DriftResult",
    "FeatureFinding",
    "Finding",
    "Histogram",
    "PairFinding",
    "PairSide",
    "PlainSetting",
]

Plain = bool | int | float | str | None

PlainSetting = Plain | tuple[Plain, ...]
"""Value of a setting, in a form that JSON can hold."""


@stored
@dataclass(frozen=True)
class Finding:
    """One test: its statistic, p-value and effect size.

    Parameters
    ----------
    name : str
    statistic : float or None
        None if there is no single statistic: several tests were combined, or no test was possible.
    degrees_of_freedom : int or None
        None if the distribution of the statistic has none.
    p_value : float
        Above 0 and at most 1; 1 if no test was possible.
    effect_size : float or None
        Size of the difference, which does not depend on the number of rows; None if it could not be determined.
    contributions : tuple of float
        What each bin adds to the statistic; empty if the test uses no bins, or if no test was possible.
    reason : str
        Why no test was possible; empty if one was.
    parts : tuple of Finding
        The tests that were combined into this one, if any.

    Examples
    --------
    >>> Finding("pearson", 4.0, 1, 0.0455, 0.2).determined
    True
    >>> Finding("pearson", None, None, 1.0, None, reason="The window has no rows.").determined
    False
    """

    name: str
    statistic: float | None
    degrees_of_freedom: int | None
    p_value: float
    effect_size: float | None
    contributions: tuple[float, ...] = ()
    reason: str = ""
    parts: tuple["Finding", ...] = ()

    @property
    def determined(self) -> bool:
        """Whether a test was possible."""
        return not self.reason

    def check_stored(self) -> None:
        """Check what was read from a file: the p-value is a probability."""
        expect(0 < self.p_value <= 1, "a p-value above 0, at most 1")


@stored
@dataclass(frozen=True)
class Histogram:
    """Distribution of the observed cells of one column on both sides.

    Parameters
    ----------
    labels : tuple of str
        Categories of the column; empty for a column of numbers.
    edges : tuple of float
        Limits of the intervals, one more than there are intervals; empty for a column of categories.
    reference, window : tuple of float
        Share of the observed cells in each category or interval; all 0 for a side without observed cells.
    n_reference, n_window : int
        Numbers of observed cells.
    new : tuple of str
        Those of the labels that occur in the window only.

    Notes
    -----
    Intervals cover the values of both sides, but for half a percent at either end, which the outermost hold. A column
    of numbers of which the reference has only a few different ones has labels.

    Examples
    --------
    >>> Histogram(("red", "blue"), (), (0.5, 0.5), (0.25, 0.75)).window
    (0.25, 0.75)
    """

    labels: tuple[str, ...]
    edges: tuple[float, ...]
    reference: tuple[float, ...]
    window: tuple[float, ...]
    n_reference: int = 0
    n_window: int = 0
    new: tuple[str, ...] = ()

    def check_stored(self) -> None:
        """Check what was read from a file: as many shares as intervals or labels."""
        expect(self.n_reference >= 0 and self.n_window >= 0, "numbers of cells from 0")
        n_shares = len(self.labels) or max(len(self.edges) - 1, 0)
        expect(len(self.reference) == n_shares == len(self.window), "as many shares as intervals")


@stored
@dataclass(frozen=True)
class FeatureFinding:
    """Finding about one input column: its missing cells and, if the detector tests single columns, its values.

    Parameters
    ----------
    name : str
    missing_reference, missing_window : float
        Shares of missing cells.
    p_value, adjusted_p_value : float
        p-value of the test of the column's values, alone and adjusted for the number of columns (Holm); 1 if they were
        not tested.
    effect_size : float
        Size of the change, in ``effect_unit``; 0 if the values were not tested.
    missing_p_value, adjusted_missing_p_value : float
        The same for the test of the column's share of missing cells.
    histogram : Histogram or None
        None if the detector keeps no distributions, or if the column has no values.
    tested, missing_tested : bool
        Whether the values, and the share of missing cells, were tested. They are not if the detector does not test
        single columns, or if a side has no value. All numbers are there in any case, so that columns can be sorted.
    range_reference, range_window : tuple of float, or None
        Smallest and largest number; None for categories, without values, and if the detector does not keep them.
    has_many : bool
        Whether it is a column of so many categories that some of them are new in every window.
    n_new_categories, n_new_cells : int
        Categories of the window that the reference does not have, and the cells that hold them. Numbers count as
        categories if the reference has only a few different ones.
    new_categories : mapping of str to int
        The most frequent of them, with their counts.
    effect_unit : str
        "standard deviations" for numbers: by how many the mean or the spread of the column's normal scores changed, so
        that a column of any shape has the same unit; what lies beyond the reference counts as its outermost values.
        "share of values" for categories: how many would have to change. "correlation" where what changed most is how
        the column goes with another one. Empty if the values were not tested.
    observed_reference, observed_window : int
        Observed cells, which all of this rests on.

    Examples
    --------
    >>> FeatureFinding("price", 0.1, 0.3).missing_window
    0.3
    >>> findings = (FeatureFinding("price", 0.0, 0.0, 0.2, 0.4, 0.1, tested=True), FeatureFinding("note", 1.0, 1.0))
    >>> [finding.name for finding in sorted(findings, key=lambda finding: finding.effect_size)]
    ['note', 'price']
    """

    name: str
    missing_reference: float
    missing_window: float
    p_value: float = 1.0
    adjusted_p_value: float = 1.0
    effect_size: float = 0.0
    missing_p_value: float = 1.0
    adjusted_missing_p_value: float = 1.0
    histogram: Histogram | None = None
    tested: bool = False
    missing_tested: bool = False
    range_reference: tuple[float, float] | None = None
    range_window: tuple[float, float] | None = None
    has_many: bool = False
    n_new_categories: int = 0
    n_new_cells: int = 0
    new_categories: Mapping[str, int] = field(default_factory=dict)
    effect_unit: str = ""
    observed_reference: int = 0
    observed_window: int = 0

    def check_stored(self) -> None:
        """Check what was read from a file: shares and probabilities."""
        expect(self.observed_reference >= 0 and self.observed_window >= 0, "numbers of observed cells from 0")
        expect(0 <= self.missing_reference <= 1 and 0 <= self.missing_window <= 1, "missing shares from 0 to 1")
        p_values = (self.p_value, self.adjusted_p_value, self.missing_p_value, self.adjusted_missing_p_value)
        expect(all(0 < p <= 1 for p in p_values), "p-values above 0, at most 1")


@stored
@dataclass(frozen=True)
class PairSide:
    """Two columns on one side, as normal scores: the reference has the mean 0 and the standard deviation 1.

    Parameters
    ----------
    n_rows : int or None
        Rows that have both cells; None if they were not counted, in tables with many columns.
    correlation : float
        From -1 to 1.
    means, spreads : tuple of float
        Mean and standard deviation of the first and of the second column.

    Examples
    --------
    >>> PairSide(n_rows=500, correlation=-0.8, means=(0.0, 0.0), spreads=(1.0, 1.0)).correlation
    -0.8
    """

    n_rows: int | None
    correlation: float
    means: tuple[float, float]
    spreads: tuple[float, float]

    def check_stored(self) -> None:
        """Check what was read from a file: a correlation, and spreads from 0."""
        expect(-1 <= self.correlation <= 1, "a correlation from -1 to 1")
        expect(min(self.spreads) >= 0 and (self.n_rows is None or self.n_rows >= 0), "spreads and rows from 0")


@stored
@dataclass(frozen=True)
class PairFinding:
    """Finding about how two columns are related.

    Parameters
    ----------
    first, second : str
        Names of the columns.
    p_value, adjusted_p_value : float
        p-value of the test of their relation, alone and adjusted for the number of pairs (Holm).
    effect_size : float
        Change of the correlation.
    is_straight : bool
        Whether the correlation itself changed; otherwise a relation that is no straight line did, such as how far
        values lie from the middle.
    reference, window : PairSide
    categories : tuple of str
        For each column, the category that the relation is about; empty for numbers.
    ticks : tuple of tuple of float
        For each column of numbers, its values at -2, -1, 0, 1 and 2 standard deviations of the reference; empty for
        categories.

    Examples
    --------
    >>> before, after = (PairSide(500, r, (0.0, 0.0), (1.0, 1.0)) for r in (0.8, 0.1))
    >>> PairFinding("price", "size", 1e-9, 1e-8, 0.7, True, before, after).window.correlation
    0.1
    """

    first: str
    second: str
    p_value: float
    adjusted_p_value: float
    effect_size: float
    is_straight: bool
    reference: PairSide
    window: PairSide
    categories: tuple[str, str] = ("", "")
    ticks: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())

    def check_stored(self) -> None:
        """Check what was read from a file: probabilities."""
        expect(0 < self.p_value <= 1 and 0 < self.adjusted_p_value <= 1, "p-values above 0, at most 1")
        expect(all(len(places) in {0, 5} for places in self.ticks), "five places of each column")


@stored
@dataclass(frozen=True)
class BinFinding:
    """Finding about one bin, a region of similar rows: its shares of the rows, and how far they differ.

    Parameters
    ----------
    centre : mapping of str to float or str
        Observed cells of the reference's rows in it, by column: a typical number, or the category that is most raised.
        A column of which these rows have fewer than five observed cells is left out.
    share_reference, share_window : float
    contribution : float or None
        Square of the standardised difference of the shares, or what the bin adds to the statistic where bins are
        tested (MDLFWF); None if no test was possible.
    description : str
        What sets the bin apart, in words about these cells.

    Examples
    --------
    >>> BinFinding({"price": 3.5}, 0.25, 0.5, 4.0).share_window
    0.5
    """

    centre: Mapping[str, float | str]
    share_reference: float
    share_window: float
    contribution: float | None
    description: str = ""


@stored
@dataclass(frozen=True)
class DriftResult:
    """Verdict of a detector on a window, with what led to it.

    Parameters
    ----------
    drift : bool or None
        None means undetermined: there is too little data to tell, and ``warnings`` says why.
    p_value : float
        p-value of the verdict: never 0, never NaN, and 1 if undetermined.
    alpha : float
        Significance level: the rate of false alarms asked for.
    n_reference, n_window : int
        Numbers of rows.
    values : Finding
        Test of the values.
    missingness : Finding or None
        Test of which values are missing; None if the detector does not have one, or if nothing is missing.
    features : tuple of FeatureFinding
        One for each input column that was compared, in the order of the table.
    bins : tuple of BinFinding
        Of DriftDetector they explain and test nothing, and there are none where missing rates clearly changed.
    warnings : tuple of str
        Sentences about anything that was ignored, replaced or doubtful.
    settings : mapping of str to plain values
        Detector, version and parameters; empty if no detector made the result.
    concept : Finding or None
        Test of P(y | x), whether the label depends on the other columns as before; None if the detector has no target.
        ``values.parts`` are then the tests of P(x), named "covariates", and of P(y), named "label".
    pairs : tuple of PairFinding
        Pairs of columns whose relation differs most surely, at most 20, the surest first. Those with an adjusted
        p-value below ``alpha`` have changed.
    duplicates : tuple of float, or None
        Share of the rows of the reference and of the window that are copies of another one; None if the detector does
        not count them.
    usual : UsualVariation or None
        The window among the batches of the reference, where it was fitted with batches: ``drift`` and all p-values are
        then about their usual variation.

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
    Missing values: none.
    Note: Few values of the reference are missing: distances were learned with cells hidden at higher rates.
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
    settings: Mapping[str, PlainSetting] = field(default_factory=dict)
    concept: Finding | None = None
    pairs: tuple[PairFinding, ...] = ()
    duplicates: tuple[float, float] | None = None
    usual: UsualVariation | None = None

    @property
    def checks(self) -> tuple[Check, ...]:
        """Checks beside drift, with the default limits, those that failed first (`gapdrift.results.run_checks`)."""
        return run_checks(self)

    def summary(self) -> str:
        """Result in a few lines of text: verdict, data, tests, missing values, failed checks, warnings."""
        from gapdrift.results.report.summary import render_summary

        return printable(render_summary(self))

    def to_dict(self) -> dict[str, Any]:
        """Result as plain dicts, lists, numbers and strings."""
        record: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return record

    def to_json(self, *, indent: int | None = None) -> str:
        """Result as JSON, without NaN or infinity."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def to_html(
        self,
        path: str | PathLike[str] | None = None,
        *,
        title: str | None = None,
        sources: Mapping[str, str | PathLike[str]] | None = None,
        made: str | None = None,
    ) -> str:
        """Result as one HTML page that needs no other file and no network.

        Parameters
        ----------
        path : str or path, optional
            File to write the page to.
        title : str, optional
            Shown above the verdict.
        sources : mapping of str to str or path, optional
            Where the data come from: "reference", "window", and anything else the reader should know.
        made : str, optional
            When the page was made. Without it, nothing in the page depends on the time, and the same result gives the
            same bytes.

        Examples
        --------
        >>> import gapdrift as gd
        >>> detector = gd.DriftDetector(random_state=0).fit(gd.datasets.stations(500, rng=0))
        >>> page = detector.test(gd.datasets.stations(500, rng=1)).to_html(title="Stations, June")
        >>> "Stations, June" in page, len(page) < 100_000
        (True, True)
        """
        from gapdrift.results.report.html import render_html

        page = render_html(
            self,
            title=_check_text("title", title) or "Drift report",
            sources=_check_sources(sources),
            made=_check_text("made", made),
        )
        if path is not None:
            write_file(path, page)
        return page

    def to_markdown(self) -> str:
        """Result in GitHub's Markdown, short enough for a comment on a pull request.

        Examples
        --------
        >>> import gapdrift as gd
        >>> detector = gd.DriftDetector(random_state=0).fit(gd.datasets.stations(500, rng=0))
        >>> print(detector.test(gd.datasets.stations(5, rng=1)).to_markdown())
        ### Undetermined: Nothing can be said yet: there is too little data.
        <BLANKLINE>
        The window has 5 row(s), expected at least 10.
        <BLANKLINE>
        **What to do next:** Collect more rows, then compare again.
        <BLANKLINE>
        500 rows in the reference, 5 in the window; alpha 0.05; DriftDetector of gapdrift ...
        """
        from gapdrift.results.report.markdown import render_markdown

        return printable(render_markdown(self))

    def check_stored(self) -> None:
        """Check what was read from a file: probabilities and numbers of rows."""
        expect(0 < self.p_value <= 1 and 0 < self.alpha < 1, "a p-value above 0, at most 1")
        expect(self.n_reference >= 0 and self.n_window >= 0, "rows from 0")

    def _repr_html_(self) -> str:
        """Result as a notebook shows it: verdict, key facts, leading columns."""
        from gapdrift.results.report.fragment import render_fragment

        return render_fragment(self)

    def to_frame(self, part: str = "features", *, library: str | None = None) -> Any:
        """Part of the result as a table of pandas or polars.

        Parameters
        ----------
        part : {"features", "bins", "pairs"}, default "features"
            One row for each column, in the order of the report, for each bin, or for each pair of columns. Numbers of
            tests that were not made are missing.
        library : {"pandas", "polars"}, optional
            The default is pandas or, where it is not installed, polars.

        Examples
        --------
        >>> import gapdrift as gd
        >>> result = gd.compare(gd.datasets.stations(500, rng=0), gd.datasets.stations(500, rng=2, drift=True))
        >>> result.to_frame()[["name", "adjusted_p_value"]].head(2)
                  name  adjusted_p_value
        0  temperature     ...
        1     humidity     ...
        """
        from gapdrift.results.frames import make_frame

        return make_frame(self, part, library)

    def plot(self, feature: str | None = None) -> "Figure":
        """Chart of all columns in the order of the report, or of the two distributions of one column.

        Parameters
        ----------
        feature : str, optional
            Name of a column; without it, the chart shows changes of values and of missing cells for all columns.

        Returns
        -------
        figure : matplotlib Figure
            A notebook shows it; ``figure.show()`` opens a window and waits until it is closed, also in a script;
            ``figure.savefig(path)`` writes it. Needs the extra ``plot``.
        """
        from gapdrift.results.report.plot import draw_feature, draw_features

        return draw_features(self) if feature is None else draw_feature(self, feature)


def _check_text(name: str, value: str | None) -> str:
    if value is not None and not isinstance(value, str):
        raise ParameterError(f"{name} is {value!r}, expected a text.")
    return value or ""


def _check_sources(sources: Mapping[str, str | PathLike[str]] | None) -> dict[str, str]:
    if sources is not None and not isinstance(sources, Mapping):
        raise ParameterError(f'sources is {sources!r}, expected a mapping such as {{"reference": "june.csv"}}.')
    return {str(name): str(place) for name, place in (sources or {}).items()}
