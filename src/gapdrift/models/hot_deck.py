"""Hot deck: missing cells completed with what the model expects there plus the residual of another row.

The Gaussian model gives the expected values of a row. How the true values scatter around them is taken from reference
rows: hide the same cells of such a row (a donor), and see by how much the model misses them. Where the model does not
fit (ties, skewness, bent dependence) the scatter is right all the same, so that a change of the missing rate alone
moves no statistic.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gapdrift._typing import Matrix
from gapdrift.models.gaussian import Precision, find_patterns

__all__ = ["complete_rows", "make_donors"]


NO_MOMENT = 1e-9
"""Share of the largest second moment up to which another counts as zero."""

N_PASSES = 4
"""Passes in which cells are completed by residuals of other rows.

The first rows that give some are Gaussian, as no row is complete yet. Where a fifth of the cells is missing, 99.8 % of
the residuals are observed ones in the end; where nine tenths are, a third.
"""

MATCHED = 1_024
"""Donors from which their moments are matched to those of the rows."""


def complete_rows(precision: Precision, centred: Matrix, rng: np.random.Generator) -> Matrix:
    """One random completion of each row: (rows, columns).

    Parameters
    ----------
    precision : Precision
    centred : (rows, columns) array, NaN where missing
        Less the model's mean.
    rng : numpy.random.Generator

    Notes
    -----
    A missing cell gets its expected value and the residual of a random other row under the same pattern; repeated, so
    that the residuals come to be those of observed cells. Those that do not are Gaussian ones: without any residual
    completed rows would vary too little where much is missing, and every window with fewer missing cells would seem to
    vary more.
    """
    missing = np.isnan(centred)
    if not missing.any():
        return centred.copy()
    observed = np.where(missing, 0.0, centred)
    completed = expected = observed

    def vectors() -> Iterator[Matrix]:
        """First those that give the expected values, then those of Gaussian rows and of random other rows."""
        yield precision.multiply(-observed)
        yield precision.multiply(precision.draw(len(centred), rng))
        for _ in range(N_PASSES - 1):
            yield precision.multiply(completed[rng.integers(len(centred), size=len(centred))])

    for number, solved in enumerate(precision.solve_each(find_patterns(missing), vectors())):
        completed = (observed if number == 0 else expected) + solved
        expected = completed if number == 0 else expected
    return completed


def make_donors(
    precision: Precision, completed: Matrix, owner: NDArray[np.intp], n_donors: int, rng: np.random.Generator
) -> Matrix:
    """Complete rows like those of the reference, none of them one of its rows: (donors, columns).

    They start from rows evenly spaced in the order of the column that varies most, and are blended after that.

    Parameters
    ----------
    precision : Precision
    completed : (rows, columns) array
        From `complete_rows`.
    owner : (columns,) array of int
        Input column behind each column; the one-hot columns of a category share theirs.
    n_donors : int
        At most as many as there are rows.
    rng : numpy.random.Generator
    """
    moments = completed.T @ completed / len(completed)
    order = np.argsort(completed[:, np.argmax(np.diag(moments))], kind="stable")
    n_donors = min(n_donors, len(order))
    places = ((np.arange(n_donors) + 0.5) * len(order) / n_donors).astype(int)
    donors = _blend(completed[order[places]], completed, precision, owner, rng)
    return _match_moments(donors, moments) if n_donors >= MATCHED else donors


def _blend(
    donors: Matrix, completed: Matrix, precision: Precision, owner: NDArray[np.intp], rng: np.random.Generator
) -> Matrix:
    """Donors every cell of which was drawn anew, so that none is a row of the reference.

    A random half of the input columns gets its expected values given the other half, and the residual of a random row
    there; then the other half likewise. The joint distribution stays that of the rows as far as the model goes, and
    the residuals, which alone matter, are observed ones. (A table of a single column has nothing to blend: its donors
    are cells of other rows.)
    """
    n_inputs = int(owner.max()) + 1
    ranks = rng.random((len(donors), n_inputs)).argsort(axis=1)
    half = ranks[:, owner] < n_inputs // 2
    for hidden in (half, ~half):
        others = completed[rng.integers(len(completed), size=len(donors))]
        donors = donors + precision.solve(find_patterns(hidden), precision.multiply(others - donors))
    return donors


def _match_moments(donors: Matrix, moments: Matrix) -> Matrix:
    """Donors with mean 0 and the second moments of the rows: residuals, linear in them, then have the right ones too.

    Thousands of donors are near that already; what is left would be a shift that millions of rows bring to light.
    """
    centred = donors - donors.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
    present = values > NO_MOMENT * values[-1]
    whitening = vectors[:, present] / np.sqrt(values[present])
    wanted, axes = np.linalg.eigh(whitening.T @ moments @ whitening)
    turn = (axes * np.sqrt(np.clip(wanted, 0.0, None))) @ axes.T
    matched: Matrix = centred @ whitening @ turn @ (vectors[:, present] * np.sqrt(values[present])).T
    return matched
