"""MDL-FWF, the method of the paper, as a scikit-learn estimator."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

from gapdrift._random import RandomState, as_rng
from gapdrift._validation import check_choice, check_columns, check_count
from gapdrift.detectors.mdlfwf.distance import published_regressor
from gapdrift.detectors.mdlfwf.membership import MEMBERSHIPS
from gapdrift.detectors.mdlfwf.reference import TESTS, FuzzyReference, FuzzySettings, fit_fuzzy_reference
from gapdrift.detectors.mdlfwf.regressors import Recipe, Regressor, make_regressor, recipe_of
from gapdrift.detectors.reference import ReferenceDetector, Setting, detector_fields, plan_batches
from gapdrift.errors import ParameterError
from gapdrift.models.imputation import Imputer
from gapdrift.persistence.records import expect, stored

__all__ = ["MDLFWF"]


@stored
class MDLFWF(ReferenceDetector):
    """Masked distance learning with fuzzy-weighted frequencies, the method of the paper.

    The distances of incomplete rows to the centres of k-means bins are predicted by a model that is learned on complete
    rows with some cells hidden (Alg. 1). An incomplete row is divided among its nearest bins according to the error of
    these distances (Alg. 2). Pearson's chi-square test compares the frequencies of the bins. With nothing missing, this
    is k-means followed by a chi-square test. ``test="wald"`` repairs what the published test loses on divided rows.

    Parameters
    ----------
    alpha : float, default 0.05
        Significance level of the test.
    random_state : int, numpy Generator, RandomState or None, default None
        The same number gives the same result, to the bit.
    membership : str, default "triangular"
        Shape of the fuzzy distance, a name in `gapdrift.detectors.mdlfwf.membership.MEMBERSHIPS`: the paper's
        "triangular" and "gaussian", or "crisp", which ignores the error of the distance.
    top_q : int or None, default 3
        Number of bins that an incomplete row is divided among; None means all of them.
    test : {"pearson", "wald"}, default "pearson"
        Test of the frequencies. "pearson" is the published one, made for rows that are counted whole. "wald" compares
        the same frequencies with the covariance that the rows' weights themselves show.
    n_bins : int or None, default None
        Number of bins; None means one for every 50 rows of the reference, from 2 to 200.
    n_splits : int, default 5
        Number of folds of rows by which the error of the distances is estimated.
    regressor : scikit-learn regressor or None, default None
        Predicts distances; None means histogram gradient boosting. It is cloned before it is fitted.
    imputers : sequence of names or imputers, or None, default None
        Names among zero, mean, median, most_frequent and iterative, or objects with ``fit`` and ``transform``; None
        means all five, in this order.
    distance : {"learned", "imputed"}, default "learned"
        "imputed" measures distances after imputation by the last of the imputers: configuration 2 of the paper.
    pairs : {"observations", "centres"}, default "observations"
        Pairs on which distances are learned: two rows, as published, or a row and a centre.
    max_pairs : int or None, default 10000
        Largest number of training pairs; above it they are sampled. None takes every pair, and their number is
        quadratic in the number of rows.
    target : str, int or None, default None
        Column with the class label, which is compared as one more feature (the paper's supervised setting). It is never
        taken for an identifier, and integers in it are categories unless they have more than 64 different values.
    categories : sequence of str or int, default ()
        Columns to treat as categorical whatever their type.
    ignore : sequence of str or int, default ()
        Columns to leave out.
    n_jobs : int or None, default None
        Threads of the numerical libraries; None means one, which is the fastest for small data.

    Attributes
    ----------
    reference_ : FuzzyReference
        Everything that was learned.
    centres_ : (bins, matrix columns) array
    distance_error_ : float
        The paper's sigma_mask.
    feature_importances_ : (2 columns + imputers,) array
        Importance of each feature of a pair, which sum to 1: missing cells of the first row, of the second row, and the
        distance after each imputation.
    evidence_ : Evidence
        Evidence of the reference.
    warnings_ : tuple of str

    Notes
    -----
    The configurations of the paper's ablation study: 1 is any of them on complete data; 2
    ``distance="imputed", imputers=["iterative"], membership="crisp"``; 3 ``membership="crisp"``; 4.1 and 4.2
    ``membership="gaussian"`` and ``"triangular"`` with ``top_q=None``; 5.1 and 5.2 the same with
    ``top_q=3``. `with_published_regressor` sets the regressor, the folds and the number of pairs of the authors'
    scripts.

    Weights of divided rows vary less than whole counts, which Pearson's test does not know: expect far fewer false
    alarms than ``alpha``, and far less drift found, than with ``test="wald"``. The setting is kept as the attribute
    ``frequency_test``, since `test` is the method that tests a window.

    Examples
    --------
    >>> import gapdrift as gd
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> draw = lambda mean: gd.datasets.hide_mcar(rng.normal(mean, 1, (500, 4)), 0.2, rng)
    >>> detector = gd.MDLFWF(random_state=0).fit(draw(mean=0))
    >>> detector.test(draw(mean=0)).drift, detector.test(draw(mean=0.5)).drift
    (False, True)
    """

    reference_: FuzzyReference

    stored_fields: ClassVar[Mapping[str, Any]] = detector_fields(FuzzyReference, Setting | Recipe)

    def __init__(
        self,
        alpha: float = 0.05,
        random_state: RandomState = None,
        *,
        membership: str = "triangular",
        top_q: int | None = 3,
        test: str = "pearson",
        n_bins: int | None = None,
        n_splits: int = 5,
        regressor: Regressor | None = None,
        imputers: Sequence[str | Imputer] | None = None,
        distance: str = "learned",
        pairs: str = "observations",
        max_pairs: int | None = 10_000,
        target: str | int | None = None,
        categories: Sequence[str | int] = (),
        ignore: Sequence[str | int] = (),
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.random_state = random_state
        self.membership = membership
        self.top_q = top_q
        self.frequency_test = test
        self.n_bins = n_bins
        self.n_splits = n_splits
        self.regressor = regressor
        self.imputers = imputers
        self.distance = distance
        self.pairs = pairs
        self.max_pairs = max_pairs
        self.target = target
        self.categories = categories
        self.ignore = ignore
        self.n_jobs = n_jobs

    @classmethod
    def with_published_regressor(cls, **settings: Any) -> Self:
        """Detector that learns distances as the authors' scripts do: slow, for comparison.

        Gradient boosting with Huber loss, 500 trees of depth 4, learning rate 0.05; two folds; every pair of rows. It
        is not their detector whole: they also fit the imputers again on every window, so that counts do not add up,
        take pairs in both orders with folds that share rows, and give weight to bins beyond twice the error. That one
        is `experiments.as_published`, and finds more.

        Parameters
        ----------
        **settings
            Parameters of the class that override these.

        Examples
        --------
        >>> MDLFWF.with_published_regressor(membership="gaussian").n_splits
        2
        """
        return cls(**{"regressor": published_regressor(), "n_splits": 2, "max_pairs": None, **settings})

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
            At least 20 rows; 500 or more are better. Of rows that are not in memory (see `count`), a random sample of
            at most 20,000 is learned from, and all are counted.
        y : ignored
            Accepted for scikit-learn's pipelines. Name the column of the label by ``target`` instead.
        batches, time, season, time_zone : optional
            As in `gapdrift.DriftDetector.fit`: the shares of the bins, and the missing rates, are judged by their usual
            variation between batches.
        """
        settings = self._check_settings()
        rng = as_rng(self.random_state)
        plan = plan_batches(reference, batches, time, season, time_zone)
        if plan is not None:
            settings = replace(settings, ignore=(*settings.ignore, *plan.columns))
        return self._fit(reference, lambda table: fit_fuzzy_reference(table, settings, rng), rng, plan)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name, as scikit-learn expects them."""
        return {**super().get_params(deep), "test": self.frequency_test}

    def set_params(self, **params: Any) -> Self:
        """The detector itself, with other parameters."""
        self.frequency_test = params.pop("test", self.frequency_test)
        super().set_params(**params)
        return self

    def _adopt(self, reference: FuzzyReference) -> Self:
        """Use a reference that is already fitted."""
        super()._adopt(reference)
        self.centres_ = self.reference_.partition.centres
        self.distance_error_ = self.reference_.distance.error
        self.feature_importances_ = self.reference_.distance.importances
        return self

    def _write_setting(self, name: str, value: Any) -> Any:
        """Parameter as a file holds it; a regressor is stored by its recipe."""
        is_regressor = name == "regressor" and value is not None
        return recipe_of(value) if is_regressor else super()._write_setting(name, value)

    @classmethod
    def _read_setting(cls, name: str, value: Any) -> Any:
        if not isinstance(value, Recipe):
            return super()._read_setting(name, value)
        expect(name == "regressor", "a regressor as the setting of this name")
        return make_regressor(value)

    def _check_settings(self) -> FuzzySettings:
        """Settings for a fit; one that is out of its range raises a `ParameterError`."""
        super()._check_settings()
        usable = isinstance(self.regressor, Regressor) and not isinstance(self.regressor, type)
        if self.regressor is not None and not usable:
            raise ParameterError(f"regressor is {self.regressor!r}, expected None or an object with fit and predict.")
        if self.imputers is not None and not isinstance(self.imputers, list | tuple):
            raise ParameterError(f"imputers is {self.imputers!r}, expected a list, such as ['mean', 'iterative'].")
        return FuzzySettings(
            membership=check_choice("membership", self.membership, tuple(MEMBERSHIPS)),
            top_q=check_count("top_q", self.top_q, 1, optional=True),
            test=check_choice("test", self.frequency_test, tuple(TESTS)),
            n_bins=check_count("n_bins", self.n_bins, 2, optional=True),
            n_splits=check_count("n_splits", self.n_splits, 2) or 0,
            regressor=self.regressor,
            imputers=None if self.imputers is None else tuple(self.imputers),
            distance=check_choice("distance", self.distance, ("learned", "imputed")),
            pairs=check_choice("pairs", self.pairs, ("observations", "centres")),
            max_pairs=check_count("max_pairs", self.max_pairs, 100, optional=True),
            target=self.target,
            categories=check_columns("categories", self.categories),
            ignore=check_columns("ignore", self.ignore),
        )
