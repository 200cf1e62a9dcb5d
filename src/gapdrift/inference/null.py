"""How statistics vary where nothing changed, learned once from rows of the reference: no row is kept."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from gapdrift._typing import Indices, Mask, Vector
from gapdrift.counting.functions import Functions
from gapdrift.inference.blocks import EntryShape, ridge, shape_of
from gapdrift.inference.combination import effective_number
from gapdrift.inference.products import (
    MAX_GRAM,
    PRODUCT_KURTOSIS,
    ProductSum,
    gaussian_moments,
    product_kinds,
    product_weights,
    triple_places,
    whitening,
)
from gapdrift.persistence.records import expect, expect_shape, stored

__all__ = ["MAX_ROWS", "ReferenceNull", "fit_null", "independent_share"]

Single = NDArray[np.float32]

MAX_ROWS = 4_096
"""Rows of the reference that are looked at one by one, at most."""

MAX_WEIGHED = 1_024
"""Rows that are weighed by random numbers, at most."""

MAX_SIMULATED = 600
"""Entries whose largest is simulated, at most."""

MAX_SUMMED = 100
"""Columns whose whitened products are looked at row by row, at most."""


N_DRAWS = 1_000

LEAST_VARIANCE = 1.0
"""Variance of a function below which it says nothing, in squared steps."""

ROWS_KNOWN = 50.0
"""Rows that are as good as knowing that two columns are Gaussian, for the variance of their product."""


@stored
@dataclass(frozen=True, eq=False)
class ReferenceNull:
    """What the rows of a reference tell of its statistics.

    Parameters
    ----------
    functions, triples : EntryShape
        Of each u and w; of each product of three.
    products : EntryShape
        Of each two of them, centred: (functions, functions) arrays.
    shares : (4,) array
        Independent entries that one is worth where the largest is looked at: of functions, plain products, other
        products, and triples.
    location_excess : float
        What heavy rows add to the variance of the whitened sum of means.
    product_sum : ProductSum
    """

    functions: EntryShape
    products: EntryShape
    triples: EntryShape
    shares: Vector
    location_excess: float
    product_sum: ProductSum

    def check_stored(self) -> None:
        """Check what was read from a file."""
        expect_shape(self.shares, (4,), "shares of independent entries")
        expect(0.0 <= self.location_excess <= 1e12, "moments from 0 to 1e12")

    def check_fits(self, functions: Functions) -> None:
        """Check that what was read from a file is about these functions."""
        size = len(functions.function_owner)
        self.functions.check_shape((size,))
        self.products.check_shape((size, size))
        self.triples.check_shape((len(triple_places(functions)[0]),))

    @property
    def known(self) -> Mask:
        """Functions that vary: (functions,)."""
        return np.asarray(np.isfinite(self.functions.kurtosis))

    def as_rare_as(self, variance: Vector) -> "ReferenceNull":
        """The same where functions vary as little as those of both sides together, if that is less.

        A reference that happens to have a rare value often would seem to know well how often it occurs.
        """
        rarer = np.maximum(self.functions.variance / np.maximum(variance, LEAST_VARIANCE), 1.0)
        both = np.outer(rarer, rarer)
        return replace(
            self,
            functions=self.functions.heavier(rarer),
            products=self.products.heavier(np.where(np.eye(len(rarer)) > 0, rarer[:, None], both)),
        )


def independent_share(rows: Single) -> float:
    """Independent entries that one of these is worth, where the largest of their sums over rows is looked at.

    Parameters
    ----------
    rows : (rows, entries) array
        Entries of each row, 0 where there is none.

    Notes
    -----
    Rows are weighed by random numbers. By chance alone a squared correlation of L rows is 1 / L on average: their share
    of all squared correlations is mixed in as independent noise (Schäfer and Strimmer).
    """
    if not rows.shape[1]:
        return 1.0
    chosen = np.unique(np.linspace(0, rows.shape[1] - 1, MAX_SIMULATED).astype(np.intp))
    some = rows[:MAX_WEIGHED, chosen]
    length = np.linalg.norm(some, axis=0)
    some = some[:, length > 1e-6] / length[length > 1e-6]
    n_rows, size = some.shape
    if size < 2:
        return 1.0
    rng = np.random.default_rng(5)
    sums = rng.standard_normal((N_DRAWS, n_rows), dtype=np.float32) @ some
    gram = some @ some.T if n_rows < size else some.T @ some
    others = float((gram.astype(float) ** 2).sum()) - size
    chance = min(size * (size - 1.0) / n_rows / others, 1.0) if others > 0.0 else 1.0
    noise = rng.standard_normal(sums.shape, dtype=np.float32)
    sums = np.sqrt(1.0 - chance) * sums + np.sqrt(chance) * noise
    smallest = 2.0 * ndtr(-np.abs(sums).max(axis=1).astype(float))
    return float(min(effective_number(smallest) / size, 1.0))


def fit_null(functions: Functions, codes: NDArray[np.uint16]) -> ReferenceNull:
    """Null of the reference, from up to `MAX_ROWS` of its rows in random order, given by their codes."""
    values, observed = map(np.ascontiguousarray, functions.values(codes))
    own = functions.function_owner
    seen = observed[:, own]
    n_own = np.maximum(seen.sum(axis=0), 1.0).astype(float)
    centred = (values - values.sum(axis=0) / n_own) * seen
    of_functions = shape_of(
        np.stack([(centred.astype(float) ** power).sum(axis=0) / n_own for power in (1, 2, 3, 4)]),
        n_own,
        LEAST_VARIANCE,
    )
    standard = centred / np.sqrt(np.maximum(of_functions.variance, LEAST_VARIANCE)).astype(np.float32)
    products = _products(functions, standard, seen, of_functions)
    of_three, rows_of_three = _triples(functions, values, observed)
    shares = np.array(
        [
            independent_share(standard[:, of_functions.variance > LEAST_VARIANCE]),
            *(independent_share(_some_products(standard, seen, *part)) for part in product_kinds(functions, products)),
            independent_share(rows_of_three),
        ]
    )
    location = _location_excess(standard, seen, of_functions)
    return ReferenceNull(
        of_functions, products, of_three, shares, location, _product_sum(functions, standard, seen, products)
    )


def _products(functions: Functions, standard: Single, seen: Single, own: EntryShape) -> EntryShape:
    """EntryShape of the products of two standardised functions over the rows with both."""
    common = (seen.T @ seen).astype(float)
    rows = np.maximum(common, 1.0)
    powers = np.stack([((standard**power).T @ standard**power).astype(float) / rows for power in (1, 2, 3, 4)])
    found = shape_of(powers, common, 1e-6)
    # Variance of a product of Gaussian columns with this correlation, up to which few rows know more.
    spread = (standard.astype(float) ** 2).T @ seen.astype(float) / rows
    usual = np.maximum(spread * spread.T, 1e-6)
    apart = functions.function_owner[:, None] != functions.function_owner[None, :]
    known = common / (common + ROWS_KNOWN)
    variance = usual * np.exp(known * np.log(np.clip(found.variance / usual, 1e-3, 1e3)))
    # Two rare values that never met would seem to vary little: their product is at least as heavy as they are.
    heavy = np.where(np.isfinite(own.kurtosis), own.kurtosis, 1e9) + 3.0
    least = np.where(apart, np.outer(heavy, heavy) - 3.0, PRODUCT_KURTOSIS)
    kurtosis = np.maximum(
        np.maximum(np.where(np.isfinite(found.kurtosis), found.kurtosis, 0.0), least), PRODUCT_KURTOSIS
    )
    silent = (own.kurtosis[:, None] == np.inf) | (own.kurtosis[None, :] == np.inf)
    return EntryShape(variance, found.skewness, np.where(silent, np.inf, kurtosis), common)


def _some_products(standard: Single, seen: Single, first: Indices, second: Indices) -> Single:
    """Centred products of two functions of each row, of as many as are simulated."""
    chosen = np.unique(np.linspace(0, len(first) - 1, MAX_SIMULATED).astype(np.intp)) if len(first) else first
    one, two = first[chosen], second[chosen]
    products = standard[:MAX_WEIGHED, one] * standard[:MAX_WEIGHED, two]
    both = seen[:MAX_WEIGHED, one] * seen[:MAX_WEIGHED, two]
    found: Single = products - both * (products.sum(axis=0) / np.maximum(both.sum(axis=0), 1.0))
    return found


def _triples(functions: Functions, values: Single, observed: Single) -> tuple[EntryShape, Single]:
    pair, third = triple_places(functions)
    first, second = functions.pairs[0][pair], functions.pairs[1][pair]
    own, scores = functions.function_owner, functions.bounded(values)
    products = scores[:, first] * scores[:, second] * scores[:, third]
    all_seen = observed[:, own[first]] * observed[:, own[second]] * observed[:, own[third]]
    n_rows = np.maximum(all_seen.sum(axis=0), 1.0).astype(float)
    powers = np.stack([(products.astype(float) ** power).sum(axis=0) / n_rows for power in (1, 2, 3, 4)])
    shape = shape_of(powers, n_rows, LEAST_VARIANCE)
    kurtosis = _independent_kurtosis(scores, observed[:, own[: len(functions.columns)]])
    least = (kurtosis[first] + 3.0) * (kurtosis[second] + 3.0) * (kurtosis[third] + 3.0) - 3.0
    shape = EntryShape(shape.variance, shape.skewness, np.maximum(shape.kurtosis, least), n_rows)
    return shape, products - all_seen * (products.sum(axis=0) / n_rows).astype(np.float32)


def _independent_kurtosis(scores: Single, seen: Single) -> Vector:
    n_rows = np.maximum(seen.sum(axis=0), 1.0)
    powers = np.stack([(scores.astype(float) ** power).sum(axis=0) / n_rows for power in (1, 2, 3, 4)])
    return np.asarray(np.minimum(shape_of(powers, n_rows, LEAST_VARIANCE).kurtosis, 1e3))


def _location_excess(standard: Single, seen: Single, shape: EntryShape) -> float:
    """What rows that are heavier than Gaussian ones add to the variance of the whitened sum of means, of one row."""
    used = np.flatnonzero((shape.variance > LEAST_VARIANCE) & (shape.kurtosis < len(standard) / 8.0))
    if not len(used):
        return 0.0
    rows = standard[:, used] / np.sqrt(np.maximum(seen[:, used].mean(axis=0), 1e-6))
    correlation = (rows.T @ rows / len(rows)).astype(float)
    values, vectors = np.linalg.eigh(correlation)
    kept = np.maximum(values, 0.0) / (np.maximum(values, 0.0) + ridge(len(used), len(rows)))
    turned = (rows @ vectors.astype(np.float32)).astype(float) ** 2 * (kept / np.maximum(values, 1e-9))
    return max(float(turned.sum(axis=1).var()) - 2.0 * float((kept**2).sum()), 0.0)


def _product_sum(functions: Functions, standard: Single, seen: Single, products: EntryShape) -> ProductSum:
    """Whitened sum of products of a sample of rows and columns, beside that of Gaussian columns."""
    n_columns = len(functions.columns)
    light = np.flatnonzero(np.isfinite(np.diag(products.kurtosis)[:n_columns]))
    cols = light[np.unique(np.linspace(0, len(light) - 1, MAX_SUMMED).astype(np.intp))] if len(light) else light
    if len(cols) < 2:
        return ProductSum(1.0, 1.0, 0.0)
    cen, present = standard[:, cols].astype(float), seen[:, cols].astype(float)
    share = np.maximum(present.T @ present / len(cen), 1.0 / len(cen))
    covariance = cen.T @ cen / len(cen) / share
    cen, present = cen[:MAX_GRAM], present[:MAX_GRAM]
    length = len(cen)
    sub = np.ix_(cols, cols)
    shape = products.at(sub)
    weights = product_weights(functions, cols, shape, shape.n_rows, covariance)
    if not weights.any():
        return ProductSum(1.0, 1.0, 0.0)
    everywhere = np.sqrt(np.outer(np.diag(share), np.diag(share)))
    correlation = covariance * share / everywhere
    np.fill_diagonal(correlation, 1.0)
    turn = whitening(correlation, float(np.median(shape.n_rows)))
    scale = weights / np.sqrt(share)
    own = np.empty((length, len(cols), len(cols)), dtype=np.float32)
    for row in range(length):
        product = (np.outer(cen[row], cen[row]) - np.outer(present[row], present[row]) * covariance) * scale
        own[row] = turn @ product @ turn
    flat = own.reshape(length, -1) / np.sqrt(np.float32(2.0))
    gram = (flat @ flat.T).astype(float)
    lengths = np.diag(gram)
    mean = float(lengths.mean())
    square = max(float((gram**2).sum() - (lengths**2).sum()) / (length * (length - 1.0)), 0.0)
    usual = gaussian_moments(turn, [correlation], [weights])
    excess = float(lengths.var()) / max(mean, 1e-9) ** 2
    ratio = float(np.clip(2.0 * square / max(usual[1], 1e-9), 1.0, 20.0))
    return ProductSum(float(np.clip(mean / max(usual[0], 1e-9), 1.0, 100.0)), ratio, excess)
