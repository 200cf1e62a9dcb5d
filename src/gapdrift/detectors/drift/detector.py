"""The default detector, as a scikit-learn estimator."""

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

from gapdrift._random import RandomState, as_rng
from gapdrift._validation import check_columns, check_count, check_nonnegative, check_share
from gapdrift.counting.evidence import Evidence
from gapdrift.counting.regions import MAX_REGIONS
from gapdrift.detectors.drift.labelled import LabelledReference, fit_labelled_reference
from gapdrift.detectors.drift.reference import (
    MIN_WINDOW,
    DriftReference,
    DriftSettings,
    fit_drift_reference,
)
from gapdrift.detectors.drift.sensitivity import CHANGES, Wanted, Windows, column_sensitivity
from gapdrift.detectors.reference import ReferenceDetector, detector_fields, plan_batches
from gapdrift.errors import InputError, ParameterError
from gapdrift.persistence.records import stored
from gapdrift.results import Sensitivity

__all__ = ["DriftDetector"]


@stored
class DriftDetector(ReferenceDetector):
    """Drift of values and of missing values, with a rate of false alarms that holds.

    No missing cell is ever filled in. A column is compared by its observed cells, two columns by the rows that have
    both. Sums over rows of small functions of each cell, and of their products, are tested against how they vary by
    chance, as the reference shows it.

    Parameters
    ----------
    alpha : float, default 0.05
        Rate of false alarms.
    random_state : int, numpy Generator, RandomState or None, default None
        The same number gives the same result, to the bit.
    n_bins : int or None, default None
        Regions of similar rows that ``result.bins`` tells about; None is one for every 50 reference rows, at most 20.
    min_effect : float, default 0
        Smallest effect size that counts as drift: in standard deviations, units of correlation or shares of rows
        for values, in shares of cells for missing values. A million rows make the smallest difference significant.
    target : str, int or None, default None
        Column with the label y. ``result.concept`` then tests P(y | x), whether the label depends on the other columns
        x as before, and ``result.values.parts`` tell P(x), "covariates", from P(y), "label".
    categories : sequence of str or int, default ()
        Columns to take as categories whatever their type.
    ignore : sequence of str or int, default ()
        Columns to leave out.
    n_jobs : int or None, default None
        Threads of the numerical libraries; None is one.

    Attributes
    ----------
    reference_ : DriftReference or LabelledReference
        All that was learned.
    evidence_ : Evidence
        Of the reference.
    warnings_ : tuple of str

    Notes
    -----
    ``result.values`` combines four tests: location, dependence, interactions and distributions;
    ``result.missingness`` three: rates, patterns and conditions. A change of what is missing alone is no drift of the
    values. The verdict spends nine tenths of ``alpha`` on values and one tenth on missing values; with a target, half
    on values, four tenths on the concept and one tenth on missing values. Labels may be missing: that is no drift, and
    rows without a label say nothing of the concept.

    Examples
    --------
    >>> import gapdrift as gd
    >>> detector = gd.DriftDetector(random_state=0).fit(gd.datasets.stations(1_000, rng=0))
    >>> detector.test(gd.datasets.stations(1_000, rng=1)).drift
    False
    >>> result = detector.test(gd.datasets.stations(1_000, rng=2, drift=True))
    >>> result.drift
    True
    >>> [feature.name for feature in result.features if feature.adjusted_p_value < 0.05]
    ['temperature', 'humidity']
    """

    reference_: DriftReference | LabelledReference
    stored_fields: ClassVar[Mapping[str, Any]] = detector_fields(DriftReference | LabelledReference)

    def __init__(
        self,
        alpha: float = 0.05,
        random_state: RandomState = None,
        *,
        n_bins: int | None = None,
        min_effect: float = 0.0,
        target: str | int | None = None,
        categories: Sequence[str | int] = (),
        ignore: Sequence[str | int] = (),
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.random_state = random_state
        self.n_bins = n_bins
        self.min_effect = min_effect
        self.target = target
        self.categories = categories
        self.ignore = ignore
        self.n_jobs = n_jobs

    def fit(
        self,
        reference: Any,
        y: None = None,  # noqa: ARG002
        *,
        batches: Any = None,
        time: str | None = None,
        season: str | Sequence[str] = (),
        time_zone: str | None = None,
    ) -> Self:
        """The detector itself, fitted on a reference.

        Parameters
        ----------
        reference : pandas, polars or pyarrow table, mapping of columns, or numpy array
            At least 20 rows; 500 and more are better. Of more than 20,000 rows as many, drawn at random, are learned
            from, and all are compared. Rows that are not in memory (see `count`) can be given, too.
        y : ignored
            For scikit-learn's pipelines. Name the label by ``target`` instead.
        batches : str, int, timedelta, labels, or list of tables or Evidence, optional
            Makes the reference one of batches, such as days, shops or weeks, and judges windows by the usual variation
            between them: the name of a column with labels, a label for each row, a span of time such as "1d", "1w" or
            "1mo" (with ``time``), a number of consecutive rows, or a list with one table, or one evidence of this
            reference, for each batch. With a list of tables, ``reference`` may be None: their rows are learned from.
        time : str, optional
            Column with the times of the rows; may be left out where only one column holds dates. Without batches, it,
            or a column of numbers, says in what order the rows are, which depend on each other: windows of consecutive
            rows are then judged by the long-run variance.
        season : str or sequence of {"day", "week", "year"}, default ()
            What is usual follows these seasons; windows then need the column ``time`` as well.
        time_zone : str, optional
            Of days, weeks and months, such as "Europe/Rome". None means UTC.

        Examples
        --------
        >>> import numpy as np
        >>> import gapdrift as gd
        >>> rng = np.random.default_rng(0)
        >>> day = np.repeat(np.arange(30), 100)
        >>> history = {"day": day, "x": rng.normal(size=30)[day] + rng.normal(size=3_000)}
        >>> detector = gd.DriftDetector(random_state=0).fit(history, batches="day")
        >>> result = detector.test({"x": 1.0 + rng.normal(size=100)})
        >>> result.drift, result.usual.rows_p_value < 1e-9
        (False, True)
        >>> detector.test({"x": 9.0 + rng.normal(size=100)}).drift
        True
        """
        settings = self._check_settings()
        rng = as_rng(self.random_state)
        plan = plan_batches(reference, batches, time, season, time_zone)
        if plan is not None and settings.target is not None:
            raise ParameterError(
                f"target is {settings.target!r}, expected None with batches, time or season: how much the dependence "
                "of a label on other columns usually varies between batches is not learned. Leave one of them out."
            )
        if plan is not None:
            settings = replace(settings, ignore=(*settings.ignore, *plan.columns), told_of_order=False)
        learn = fit_drift_reference if settings.target is None else fit_labelled_reference
        return self._fit(reference, lambda table: learn(table, settings, rng), rng, plan)

    def sensitivity(
        self,
        n_rows: int,
        power: float = 0.8,
        *,
        columns: Sequence[str] | None = None,
        changes: Sequence[str] = CHANGES,
        partner: str | None = None,
        alpha: float | None = None,
        progress: Callable[[], None] | None = None,
    ) -> Sensitivity:
        """The smallest changes of each column that a window of some rows finds.

        Windows are drawn from what the reference knows of itself (no rows are kept), changed in one column, and tested,
        so that all of the detector takes part: with batches, windows have their usual variation.

        Parameters
        ----------
        n_rows : int
            Rows of the window.
        power : float, default 0.8
            Probability with which a change is to be found.
        columns : sequence of str, optional
            Columns to try, since each takes seconds. None means all of them.
        changes : sequence of {"values", "missing", "correlation"}, default all
            What to change: the mean (of categories, the share of rows in another one), the missing rate, the
            correlation with another column.
        partner : str, optional
            Column whose correlation with each of the others is changed. None means the one that each goes with most.
        alpha : float, optional
            Rate of false alarms. None means that of the detector.
        progress : callable, optional
            Called after each column.

        Notes
        -----
        Takes seconds for each column. Windows are drawn by normal scores with the correlations of the observed cells,
        and what those do not tell is added to the sums. Rounded numbers stay rounded when their mean is changed. The
        power is that over the references that this one might have been: each window is drawn from a truth that differs
        from the reference as another sample of its size would, since the mean of 500 rows is itself known to 0.04
        standard deviations only.

        Examples
        --------
        >>> import numpy as np
        >>> import gapdrift as gd
        >>> rows = {"x": np.random.default_rng(0).normal(10, 2, size=1_000)}
        >>> (column,) = gd.DriftDetector(random_state=0).fit(rows).sensitivity(200).columns
        >>> 0.1 < column.shift_in_deviations < 0.5, round(column.shift / column.shift_in_deviations)
        (True, 2)
        """
        self.check_fitted()
        size = check_count("n_rows", n_rows, MIN_WINDOW)
        assert size is not None  # not optional
        rate = check_share("alpha", self.alpha if alpha is None else alpha)
        if self.time_column_ is not None:
            raise InputError("The sensitivity of a detector with seasons is not known: fit one without season for it.")
        if not isinstance(self.reference_, DriftReference):
            raise InputError("The sensitivity of a detector with a target is not known: fit one without target for it.")
        reference = self.reference_
        batches = None if self.usual_ is None else self.usual_.table
        windows = Windows(reference.functions, reference.evidence, size, reference.regions, batches)
        other = None if partner is None else self._places_of([partner], "partner")[0]
        seed = zlib.crc32(reference.evidence.origin.encode())
        wanted = Wanted(check_share("power", power), rate, _check_changes(changes), other, seed)

        def p_value_of(window: Evidence) -> float:
            return reference.p_value(window) if batches is None else self.test(window, alpha=rate).p_value

        found = []
        for column in self._places_of(columns):
            found.append(column_sensitivity(windows, p_value_of, self.schema_.names, column, wanted))
            if progress is not None:
                progress()
        n_batches = None if batches is None else len(batches)
        return Sensitivity(size, wanted.power, rate, n_batches, tuple(found))

    def _places_of(self, columns: Sequence[str] | None, setting: str = "columns") -> list[int]:
        names = self.schema_.names
        if columns is None:
            return list(range(len(names)))
        unknown = [name for name in check_columns(setting, columns) if name not in names]
        if unknown:
            raise ParameterError(f"{setting} has {unknown[0]!r}, expected some of those compared: {', '.join(names)}.")
        return [names.index(str(name)) for name in columns]

    def _check_settings(self) -> DriftSettings:
        """Settings for a fit; those out of their range raise a `ParameterError`."""
        super()._check_settings()
        return DriftSettings(
            n_bins=_check_bins(self.n_bins),
            min_effect=check_nonnegative("min_effect", self.min_effect),
            target=self.target,
            categories=check_columns("categories", self.categories),
            ignore=check_columns("ignore", self.ignore),
        )


def _check_changes(changes: Sequence[str]) -> tuple[str, ...]:
    found = (changes,) if isinstance(changes, str) else tuple(changes)
    unknown = [change for change in found if change not in CHANGES]
    if unknown or not found:
        got = repr(unknown[0]) if unknown else "nothing"
        raise ParameterError(f"changes has {got}, expected some of {', '.join(CHANGES)}.")
    return found


def _check_bins(n_bins: int | None) -> int | None:
    checked = check_count("n_bins", n_bins, 2, optional=True)
    if checked is not None and checked > MAX_REGIONS:
        raise ParameterError(f"n_bins is {checked}, expected at most {MAX_REGIONS}, or None.")
    return checked
