"""MDL-FWF as published, as a scikit-learn estimator."""

from collections.abc import Sequence
from typing import Any, Self

from gapdrift._random import RandomState, as_rng
from gapdrift._validation import check_choice, check_columns, check_count
from gapdrift.detectors.base import ReferenceDetector
from gapdrift.detectors.mdlfwf.distance import Regressor, published_regressor
from gapdrift.detectors.mdlfwf.membership import MEMBERSHIPS
from gapdrift.detectors.mdlfwf.reference import FuzzyReference, FuzzySettings, fit_fuzzy_reference
from gapdrift.errors import ParameterError
from gapdrift.models.imputation import Imputer

__all__ = ["MDLFWF"]


class MDLFWF(ReferenceDetector):
    """Masked distance learning with fuzzy-weighted frequencies, as published.

    Distances of incomplete rows to the centres of k-means bins are learned on complete rows whose cells
    are hidden (Alg. 1); an incomplete row is spread over the nearest bins by the error of that distance
    (Alg. 2); Pearson's chi-square test compares the frequencies of the bins. With nothing missing it is
    k-means and chi-square.

    Parameters
    ----------
    alpha : float, default 0.05
        Rate of false alarms asked for.
    random_state : int, numpy Generator, RandomState or None, default None
        The same number gives the same result, to the bit.
    membership : {"triangular", "gaussian", "crisp"}, default "triangular"
        Shape of the fuzzy distance.
    top_q : int or None, default 3
        Bins that an incomplete row is spread over; None is all of them.
    n_bins : int or None, default None
        Number of bins; None is one for every 50 rows of the reference, from 2 to 200.
    n_splits : int, default 5
        Folds of rows in which the error of the distance is estimated.
    regressor : scikit-learn regressor or None, default None
        Predicts distances; None is histogram gradient boosting. Cloned before it is fitted.
    imputers : sequence of names or imputers, or None, default None
        Names out of zero, mean, median, most_frequent and iterative, or objects with ``fit`` and
        ``transform``; None is all five, in this order.
    distance : {"learned", "imputed"}, default "learned"
        "imputed" takes distances after the last imputer of the pool: configuration 2 of the paper.
    pairs : {"observations", "centres"}, default "observations"
        Pairs that distances are learned on: two rows, as published, or a row and a centre.
    max_pairs : int or None, default 10000
        Pairs sampled for training at most; None takes every pair, which is quadratic in the rows.
    target : str, int or None, default None
        Column with the label, which takes part as one more feature (the paper's supervised setting); it is
        never taken for an identifier, and whole numbers in it are levels.
    categories : sequence of str or int, default ()
        Columns to take as categories whatever their type.
    ignore : sequence of str or int, default ()
        Columns to leave out.
    n_jobs : int or None, default None
        Threads of the numerical libraries; None is one, the fastest for small data.

    Attributes
    ----------
    reference_ : FuzzyReference
        All that was learned.
    centres_ : (bins, matrix columns) array
    distance_error_ : float
        The paper's sigma_mask.
    feature_importances_ : (2 columns + imputers,) array
        Shares of the pair features: missing cells of one row, of the other, distances by each imputer.
    evidence_ : Evidence
        Of the reference.
    warnings_ : tuple of str

    Notes
    -----
    The configurations of the paper's ablation study: 1 is any of them on complete data; 2
    ``distance="imputed", imputers=["iterative"], membership="crisp"``; 3 ``membership="crisp"``; 4.1 and 4.2
    ``membership="gaussian"`` and ``"triangular"`` with ``top_q=None``; 5.1 and 5.2 the same with
    ``top_q=3``. `as_published` also takes the authors' regressor, folds and all pairs.

    Pearson's test is too cautious for fuzzy frequencies: expect fewer false alarms than ``alpha``.

    Examples
    --------
    >>> import gapdrift as gd
    >>> drift = gd.datasets.DRIFTS["gaussian-mean"]
    >>> detector = gd.MDLFWF(random_state=0).fit(drift.sample(500, severity=0, missing=0.2, rng=1))
    >>> detector.test(drift.sample(500, severity=0, missing=0.2, rng=2)).drift
    False
    >>> detector.test(drift.sample(500, severity=10, missing=0.2, rng=3)).drift
    True
    """

    reference_: FuzzyReference

    def __init__(
        self,
        alpha: float = 0.05,
        random_state: RandomState = None,
        *,
        membership: str = "triangular",
        top_q: int | None = 3,
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
    def as_published(cls, **settings: Any) -> Self:
        """Detector with the settings of the authors' scripts: slow, for comparison.

        Parameters
        ----------
        **settings
            Parameters of the class that override the published ones.

        Returns
        -------
        detector : MDLFWF
            Gradient boosting with Huber loss, 500 trees of depth 4, learning rate 0.05; two folds; every
            pair of rows.

        Examples
        --------
        >>> MDLFWF.as_published(membership="gaussian").n_splits
        2
        """
        return cls(**{"regressor": published_regressor(), "n_splits": 2, "max_pairs": None, **settings})

    def fit(self, reference: Any, y: None = None) -> Self:  # noqa: ARG002
        """Learn a reference.

        Parameters
        ----------
        reference : pandas, polars or pyarrow table, mapping of columns, or numpy array
            At least 20 rows; 500 and more are better. Of rows that are not in memory (see `count`) at most
            100,000, drawn at random, are brought into it.
        y : ignored
            For scikit-learn's pipelines. Name the label by ``target`` instead.

        Returns
        -------
        self : MDLFWF
        """
        settings = self._check_settings()
        rng = as_rng(self.random_state)
        return self._fit(reference, lambda table: fit_fuzzy_reference(table, settings, rng), rng)

    def _adopt(self, reference: FuzzyReference) -> Self:
        """Take a reference that is fitted already."""
        super()._adopt(reference)
        self.centres_ = self.reference_.partition.centres
        self.distance_error_ = self.reference_.distance.error
        self.feature_importances_ = self.reference_.distance.importances
        return self

    def _check_settings(self) -> FuzzySettings:
        """Settings for a fit; those out of their range raise a `ParameterError`."""
        super()._check_settings()
        usable = isinstance(self.regressor, Regressor) and not isinstance(self.regressor, type)
        if self.regressor is not None and not usable:
            raise ParameterError(f"regressor is {self.regressor!r}, expected None or an object with fit and predict.")
        if self.imputers is not None and not isinstance(self.imputers, list | tuple):
            raise ParameterError(f"imputers is {self.imputers!r}, expected a list, such as ['mean', 'iterative'].")
        return FuzzySettings(
            membership=check_choice("membership", self.membership, tuple(MEMBERSHIPS)),
            top_q=check_count("top_q", self.top_q, 1, optional=True),
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
