"""How a label depends on the other columns, learned on a reference, and the sums of what it does not explain.

The label has functions as any column has: u of a number, and of classes whether it is one of the most frequent. Ridge
regressions predict each from x: u, w and o of the other columns, and a few bends, which are products of two u and waves
of one. They are learned on three thirds of the reference. Two thirds together predict a row: a row of the reference
those that it is not in, any other row each two of the three, and it counts once for each.

With p the functions of a row by which labels are compared, and r what a prediction is wrong by, the sums are those of
p p', of p r, and of p p' r^2, its variance. All are whole numbers.
"""

from dataclasses import dataclass, fields
from itertools import combinations
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from gapdrift._typing import Indices, Mask, Matrix, Vector
from gapdrift.counting.functions import LARGEST_STEP, STEPS, Functions
from gapdrift.persistence.records import expect, expect_range, expect_shape, stored

__all__ = ["CONSTANT", "CURVE", "MIN_CLASS", "MIN_LABELLED", "N_PAIRS", "OTHER", "SLOPE"]
__all__ += ["ConceptModel", "count_concept", "fit_concept", "ridge_regression"]

Sums = dict[str, NDArray[np.float64]]

CONSTANT, SLOPE, CURVE, OTHER = range(4)
"""Roles of functions: the constant; u and predictions; w and products; o, bends and steps, which are only taken off."""

N_PAIRS = 3
"""Pairs of thirds: how often a row counts."""

MIN_LABELLED, MIN_CLASS = 40, 10
"""Labelled rows of the reference, and rows of a class or with a missing cell, from which something is learned."""

MAX_CLASSES, MAX_BENDS = 4, 15
"""Most frequent classes, each against all others, and bends of u that go best with the label."""

LEAST_BEND = 2.5
"""Standard errors by which such a bend goes with the label, at least."""

ROWS_PER_FUNCTION, MAX_SQUARES = 5, 15_000
"""Labelled rows of the reference for each function, at least; entries of the sums of squares, about."""

SHARES = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
"""Shares of the predictions of the reference at which the functions have a step."""

MATTERS = 0.01
"""Share of the residual variance by which a column matters: predictions without it are worse by so much."""

MAX_SPREAD = 3.0
"""Residuals are cut off at so many deviations where their spread is compared."""


@stored
@dataclass(frozen=True, eq=False)
class ConceptModel:
    """What is expected of the label, given x: u, w and o of the other columns, and bends of u.

    Parameters
    ----------
    is_number : bool
    outputs : (outputs,) array of int
        Functions of the label that are predicted.
    bends : (n, 3) array of int
        Two u, and what becomes of them.
    intercepts : (3, outputs) array
        Of the thirds.
    slopes : (3, x, outputs) array
    columns, roles : (n,) arrays of int
        Which of x labels are compared by, and their roles.
    crossed : (n, 2) array of int
        Which two of x labels are compared by the products of.
    steps : (outputs, steps) array
        Predictions at which there is a step.
    spread : (2,) array
        Of a number: where residuals are cut off, and the mean of their squares.
    needed, observed : (n,) arrays of int
        Which of x are the o of columns that matter: those that the reference hardly ever lacks, and all.
    ends : (n,) array of int
        Which of x are the u of columns that matter.
    """

    is_number: bool
    outputs: Indices
    bends: Indices
    intercepts: Matrix
    slopes: NDArray[np.float64]
    columns: Indices
    roles: Indices
    crossed: Indices
    steps: Matrix
    spread: Vector
    needed: Indices
    observed: Indices
    ends: Indices

    @property
    def all_roles(self) -> Indices:
        """Role of each function."""
        n = len(self.outputs)
        rest = np.repeat([SLOPE, OTHER, CURVE], [n, self.steps.size, len(self.crossed)])
        return np.concatenate([[CONSTANT], self.roles, rest])

    def predict(self, x: Matrix) -> NDArray[np.float64]:
        """Predictions of each third, in whole steps: (3, rows, outputs)."""
        return _predict(self.intercepts, self.slopes, x)

    def sums(self, x: Matrix, labels: Matrix, one: Matrix, two: Matrix) -> Sums:
        """Sums over rows with these predictions of two thirds.

        All sums are twice: over rows with all columns that are needed; and over those with all columns that matter, of
        values that are not beyond those of the reference.
        """
        functions, residuals = self._functions(x, labels, one, two)
        has_needed = (x[:, self.needed] > 0).all(axis=1)
        inside = (np.abs(x[:, self.ends]) < LARGEST_STEP).all(axis=1) & (x[:, self.observed] > 0).all(axis=1)
        sides = [_sums_of(functions[chosen], residuals[chosen]) for chosen in (has_needed, inside)]
        return {name: np.stack([side[name] for side in sides]) for name in sides[0]}

    def _functions(self, x: Matrix, labels: Matrix, one: Matrix, two: Matrix) -> tuple[Matrix, Matrix]:
        """Functions and residuals of rows; of a number the last residual is about its spread."""
        mean, n_rows = np.floor((one + two) / 2.0), len(x)
        steps = (mean[:, :, None] > self.steps).reshape(n_rows, self.steps.size)
        crossed = np.rint(x[:, self.crossed[:, 0]] * x[:, self.crossed[:, 1]] / STEPS)
        functions = np.hstack([np.ones((n_rows, 1)), x[:, self.columns], mean, steps, crossed])
        residuals = labels[:, self.outputs] - mean
        if not self.is_number:
            return functions, residuals
        # The errors of two thirds are independent: their product tells the noise of the label alone.
        cap, usual = self.spread
        both = np.prod([np.clip(labels[:, self.outputs] - each, -cap, cap) for each in (one, two)], axis=0)
        return functions, np.hstack([residuals, np.floor(both / STEPS) - usual])

    def fingerprint(self) -> bytes:
        """All numbers that decide what a row contributes."""
        return b"".join(np.asarray(getattr(self, field.name)).tobytes() for field in fields(self))

    def check_stored(self) -> None:
        """Check what was read from a file: functions and predictions fit together."""
        n_outputs, n_x = len(self.outputs), self.slopes.shape[1]
        expect(1 <= n_outputs <= MAX_CLASSES and not (self.is_number and n_outputs > 1), f"up to {MAX_CLASSES} classes")
        expect_shape(self.intercepts, (3, n_outputs), "intercepts")
        expect_shape(self.slopes, (3, n_x, n_outputs), "slopes")
        expect_shape(self.steps, (n_outputs, len(SHARES)), "steps of predictions")
        expect_shape(self.bends, (-1, 3), "bends")
        expect_shape(self.roles, self.columns.shape, "roles of functions")
        expect_shape(self.spread, (2,), "the spread")
        for places in (self.columns, self.crossed, self.needed, self.observed, self.ends, self.bends):
            expect_range(places, 0, n_x, "functions of the other columns")
        expect(len(self.all_roles) <= 2 * isqrt(MAX_SQUARES), "fewer functions")


def _sums_of(functions: Matrix, residuals: Matrix) -> Sums:
    squares = [(functions * each[:, None] ** 2).T @ functions for each in residuals.T]
    products, scores = functions.T @ functions, residuals.T @ functions
    return {"concept_products": products, "concept_scores": scores, "concept_squares": np.array(squares)}


def count_concept(model: ConceptModel, block: Matrix, labels: Matrix) -> Sums:
    """Sums over labelled rows that nothing was learned from.

    Parameters
    ----------
    model : ConceptModel
    block : (rows, functions) array
        [u | w | o] of the other columns.
    labels : (rows, functions of the label) array
    """
    x = _with_bends(block, model.bends)
    found = [model.sums(x, labels, one, two) for one, two in combinations(model.predict(x), 2)]
    return {name: np.sum([each[name] for each in found], axis=0) for name in found[0]}


def fit_concept(
    functions: Functions, block: Matrix, labels: Matrix, rng: np.random.Generator, *, is_number: bool
) -> tuple[ConceptModel, Sums] | None:
    """Model of the label, and sums over the rows that it was learned from; None where labels tell too little.

    Parameters
    ----------
    functions : Functions
        Of the other columns.
    block, labels : arrays
        As of `count_concept`.
    rng : numpy.random.Generator
    is_number : bool
    """
    outputs = np.arange(1) if is_number else _frequent(labels)
    if len(labels) < MIN_LABELLED or not len(outputs) or (labels[:, outputs] == labels[0, outputs]).all():
        return None
    own, third, rows = labels[:, outputs], rng.permutation(np.arange(len(labels)) % 3), np.arange(len(labels))
    bends = _choose_bends(functions, block, own)
    x = _with_bends(block, bends)
    fitted = [ridge_regression(x[third == part], own[third == part]) for part in range(3)]
    intercepts, slopes = (np.array(parts) for parts in zip(*fitted, strict=True))
    each = _predict(intercepts, slopes, x)
    one, two = each[(third + 1) % 3, rows], each[(third + 2) % 3, rows]
    mean = np.floor((one + two) / 2.0)
    cap = np.rint(MAX_SPREAD * (own - mean)[:, 0].std())
    spread = np.array([cap, np.rint((np.minimum((own - mean)[:, 0] ** 2, cap**2) / STEPS).mean())])
    most = min(len(x) // ROWS_PER_FUNCTION, isqrt(MAX_SQUARES // (len(outputs) + is_number)))
    n_left = max(most - 1 - len(outputs) * (1 + len(SHARES)), 1)
    columns, roles = _choose_columns(functions, x, own, n_left)
    matters = _matters(functions, bends, slopes, x, (own - mean).var(axis=0))
    observed = len(functions.function_owner) + np.flatnonzero(matters)
    needed = observed[(x[:, observed] == 0).sum(axis=0) < MIN_CLASS]
    ends = np.flatnonzero(matters[functions.function_owner[: len(functions.columns)]])
    crossed = _pairs(functions, ends, columns[roles == SLOPE])[: n_left - len(columns)]
    steps = np.quantile(mean, SHARES, axis=0).T
    of_rows = columns, roles, crossed, steps, spread, needed, observed, ends
    model = ConceptModel(is_number, outputs, bends, intercepts, slopes, *of_rows)
    # Each row counts once for each pair.
    return model, {name: N_PAIRS * array for name, array in model.sums(x, labels, one, two).items()}


def _predict(intercepts: Matrix, slopes: NDArray[np.float64], x: Matrix) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.rint(intercepts[:, None, :] + x @ slopes)
    return found


def _frequent(labels: Matrix) -> Indices:
    """Functions of the classes that are looked at: the first of two, of more the most frequent ones."""
    counts = np.count_nonzero(labels > 0.0, axis=0)
    order = np.argsort(-counts, kind="stable")
    often = order[(counts[order] >= MIN_CLASS) & (counts[order] <= len(labels) - MIN_CLASS)]
    return np.asarray(often[:1] if np.count_nonzero(counts) == 2 else often[:MAX_CLASSES])


def ridge_regression(x: Matrix, labels: Matrix) -> tuple[Vector, Matrix]:
    """Intercepts and slopes, with the penalty that generalised cross-validation chooses for each label.

    Notes
    -----
    It minimises RSS / (n - df)^2, with df = 1 + sum of d / (d + penalty) over the eigenvalues d of x'x (Golub, Heath
    and Wahba, 1979).
    """
    centre, mean, n_rows = x.mean(axis=0), labels.mean(axis=0), len(x)
    scale = _one_over(x.std(axis=0))
    standard, rest = (x - centre) * scale, labels - mean
    values, vectors = np.linalg.eigh(standard.T @ standard)
    values = np.maximum(values, 0.0)[:, None]
    turned = vectors.T @ (standard.T @ rest)
    penalties, scores = n_rows * 10.0 ** np.arange(-4.0, 2.0, 0.5), []
    for penalty in penalties:
        kept = values / (values + penalty)
        left = (rest**2).sum(axis=0) - ((2.0 - kept) * turned**2 / (values + penalty)).sum(axis=0)
        scores.append(left / max(n_rows - 1.0 - float(kept.sum()), 1.0) ** 2)
    slopes = scale[:, None] * (vectors @ (turned / (values + penalties[np.argmin(scores, axis=0)])))
    return mean - centre @ slopes, slopes


def _one_over(spread: Vector) -> Vector:
    found: Vector = np.where(spread > 0.0, 1.0 / np.maximum(spread, 1e-9), 0.0)
    return found


def _with_bends(block: Matrix, bends: Indices) -> Matrix:
    """x: [u | w | o], and bends of u: products of two (kind 0), and waves of one."""
    first, second, kind = bends.T
    u, v = block[:, first] / STEPS, block[:, second] / STEPS
    found = np.select(
        [kind == 0, kind == 1, kind == 2], [u * v, np.sin(1.5 * u), np.sin(3.0 * u)], 1.0 - np.cos(3.0 * u)
    )
    return np.hstack([block, np.rint(STEPS * found)])


def _choose_bends(functions: Functions, block: Matrix, labels: Matrix) -> Indices:
    """Bends of u that go with what straight lines leave over of the label: first and second u, and kind: (n, 3)."""
    intercepts, slopes = ridge_regression(block, labels)
    left, u = labels - intercepts - block @ slopes, block[:, : len(functions.columns)]
    own, (first, second) = functions.function_owner, np.triu_indices(u.shape[1])
    allowed = (own[first] != own[second]) | ((first == second) & np.isin(first, functions.numbers))
    products = np.column_stack([first, second, 0 * first])[allowed]
    waves = np.array(
        [(place, place, kind) for kind in (1, 2, 3) for place in functions.numbers], dtype=np.intp
    ).reshape(-1, 3)
    strengths = [np.zeros(len(products) + len(waves))]
    squares, of_waves = u**2, _with_bends(block, waves)[:, block.shape[1] :]
    for each in left.T:
        sums = ((u * each[:, None]).T @ u)[tuple(products[:, :2].T)], each @ of_waves
        errors = np.sqrt((squares.T @ squares)[tuple(products[:, :2].T)]), np.sqrt((of_waves**2).sum(axis=0))
        strength = np.abs(np.concatenate(sums)) / np.maximum(np.concatenate(errors), 1.0)
        strengths.append(strength / max(float(each.std()), 1e-9))
    strength = np.max(strengths, axis=0)
    best = np.argsort(-strength, kind="stable")[:MAX_BENDS]
    return np.asarray(np.concatenate([products, waves])[best[strength[best] > LEAST_BEND]])


def _choose_columns(functions: Functions, x: Matrix, labels: Matrix, most: int) -> tuple[Indices, Indices]:
    """Which of x labels are compared by, and their roles: u first, and each kind by how it goes with the label."""
    n_u, n_functions = len(functions.columns), len(functions.function_owner)
    role = np.repeat([SLOPE, CURVE, OTHER], [n_u, n_functions - n_u, x.shape[1] - n_functions])
    standard = (x - x.mean(axis=0)) * _one_over(x.std(axis=0))
    together = np.abs(standard.T @ (labels - labels.mean(axis=0))) * _one_over(labels.std(axis=0)) / len(x)
    order = np.argsort(2.0 * role - together.max(axis=1), kind="stable")
    varies = np.minimum((x != 0).sum(axis=0), (x != x[0]).sum(axis=0)) >= MIN_CLASS
    columns = np.sort(order[varies[order]][:most])
    return columns, role[columns]


def _pairs(functions: Functions, ends: Indices, slopes: Indices) -> Indices:
    """Pairs of u, one of a column that matters, and of two columns: (n, 2)."""
    own = functions.function_owner
    pairs = {(min(one, two), max(one, two)) for one in ends.tolist() for two in slopes.tolist() if own[one] != own[two]}
    return np.array(sorted(pairs), dtype=np.intp).reshape(-1, 2)


def _matters(
    functions: Functions, bends: Indices, slopes: NDArray[np.float64], x: Matrix, residual_variance: Vector
) -> Mask:
    """Whether predictions need each input column: (inputs,).

    The covariance of what two thirds say of a column estimates the variance that it explains: their errors differ.
    """
    centred, inputs = x - x.mean(axis=0), np.arange(len(functions.inputs))
    single = np.concatenate([functions.function_owner, inputs])
    one, two = functions.function_owner[bends[:, :2]].T
    found = np.zeros(len(inputs), dtype=bool)
    for place in inputs:
        own = np.flatnonzero(np.concatenate([single == place, (one == place) | (two == place)]))
        said = centred[:, own] @ slopes[:, own]
        explained = np.mean([(a * b).mean(axis=0) for a, b in combinations(said, 2)], axis=0)
        found[place] = (explained > MATTERS * residual_variance).any()
    return found
