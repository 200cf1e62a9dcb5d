"""Tests of P(y | x): whether the label depends on the other columns as before, wherever these have moved to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr, stdtr

from gapdrift._typing import Indices, Matrix, Vector
from gapdrift.inference.combination import Adjustment, Component, combine, sidak
from gapdrift.inference.null import N_DRAWS, SMALLEST_EIGENVALUE
from gapdrift.inference.pearson import SMALLEST_P
from gapdrift.models.concept_basis import CELL, CONSTANT, CURVE, MISSING, SLOPE
from gapdrift.results import Finding

__all__ = ["concept_finding"]

Sums = Mapping[str, NDArray[np.float64]]

MIN_LABELS = 20
"""Labelled rows of either side below which the concept is undetermined."""

ADVICE = {"window": "Test rows again once they are labelled.", "reference": "Compare with more rows that have a label."}
"""What to do where a side has too few labels."""

MOVED = 0.1
"""p-value of equal means of the functions of labelled rows on both sides, below which the columns have moved."""

FARTHEST = 2.5
"""Distance of both sides, in standard deviations, beyond which hardly any of their rows lie at the same place."""

ROWS_PER_FUNCTION = 3
"""Complete rows of either side, for each function, from which they are compared alone."""

MIN_COMPLETE = 50
"""Complete rows of either side from which they are compared alone."""

KINDS_FOR_ROWS = ((CONSTANT, SLOPE, CELL, CURVE), (CONSTANT, SLOPE, CELL), (CONSTANT, SLOPE))
"""Functions by which complete rows are compared: the most for which they are enough."""

ROWS_PER_RANK = 10
"""Labelled rows of the window for each direction of a Wald test, at least."""

LEAST_INFORMATION = 1e-4
"""Share of the variance of a function that the others do not explain, times its rows, below which it is left out."""

WEIGHTS = {"level": 1.0, "slopes": 1.0, "curves": 0.5}
"""Weights of the tests of a label's mean."""

SPREAD_WEIGHTS = {"level": 0.7, "slopes": 0.3, "curves": 0.1}
"""Weights of the tests of its spread."""


class _Side(NamedTuple):
    """Sums of one side, over all labelled rows or over complete ones."""

    n_rows: float
    gram: Matrix
    scores: Matrix
    squares: Matrix

    def of(self, functions: Indices) -> "_Side":
        """Sums of some functions."""
        block = np.ix_(functions, functions)
        squares = np.array([each[block] for each in self.squares])
        return _Side(self.n_rows, self.gram[block], self.scores[:, functions], squares)


class _Choice(NamedTuple):
    """What is compared: which rows, all labelled ones (0) or complete ones (1), and by which functions.

    Differences along ``nuisance`` functions are no change of the concept, and are taken off.
    """

    rows: int
    functions: Indices
    nuisance: Indices


@dataclass(frozen=True, eq=False)
class _Scores:
    """Differences of one residual between window and reference, for each function.

    Parameters
    ----------
    difference : (functions,) array
        U = S_r S^-1 E_w - S_w S^-1 E_r, with S the products and E the residuals of either side.
    covariance : (functions, functions) array
    information : (functions, functions) array
        S_r S^-1 S_w: by how much U grows with a coefficient that differs between the sides.
    n_rows : float
        Of the smaller side.
    """

    difference: Vector
    covariance: Matrix
    information: Matrix
    n_rows: float

    def given(self, chosen: Indices, others: Indices) -> "_Scores":
        """Differences of some functions, less what differences of others explain."""
        transfer = np.zeros((len(chosen), len(self.difference)))
        transfer[np.arange(len(chosen)), chosen] = 1.0
        if len(others):
            inverse = np.linalg.pinv(self.information[np.ix_(others, others)], rcond=1e-8, hermitian=True)
            transfer[:, others] -= self.information[np.ix_(chosen, others)] @ inverse
        information = transfer @ self.information @ transfer.T
        return _Scores(transfer @ self.difference, transfer @ self.covariance @ transfer.T, information, self.n_rows)

    def with_more_variance(self, factor: float) -> "_Scores":
        """The same differences, with a covariance that is so many times as large."""
        return _Scores(self.difference, factor * self.covariance, self.information, self.n_rows)

    @property
    def usable(self) -> Indices:
        """Functions of which both sides know something."""
        information = np.diag(self.information)
        return np.flatnonzero((information > LEAST_INFORMATION * self.n_rows) & (np.diag(self.covariance) > 1e-12))


def concept_finding(roles: Indices, reference: Sums, counted: Sums, window: Sums, *, is_number: bool) -> Finding:
    """Finding of P(y | x), with its parts.

    Parameters
    ----------
    roles : (functions,) array of int
        Of the functions of a row.
    reference : mapping
        Sums of `gapdrift.counting.concept` over rows of the reference, each predicted by a model of the others.
    counted : mapping
        The same, counted like a window. Squared residuals of rows that were learned from are too small, so that a
        spread must differ from both: rows of the reference are then no drift.
    window : mapping
    is_number : bool
        Whether the label is a number: its second residual is then about its spread.

    Notes
    -----
    Residuals are regressed on the functions of a row on both sides together, and it is tested whether coefficients of
    the window differ (Chow), with variances that hold whatever the spread of the residuals is (Eicker, Huber, White).
    What the regression takes off is what P(x) explains; where either side has no rows, nothing is compared. Where the
    other columns moved, variances are as many times larger as differences beyond level and slopes exceed theirs:
    these tell by how much predictions are wrong where the reference has few rows.
    """
    sides = _side(reference, 0), _side(window, 0)
    for side, (name, advice) in zip(sides[::-1], ADVICE.items(), strict=True):
        if side.n_rows < MIN_LABELS:
            return _undetermined(
                f"{side.n_rows:.0f} row(s) of the {name} have a label, expected at least {MIN_LABELS} (rows without a "
                "column that it depends on, and that the reference hardly ever lacks, do not count): whether the label "
                f"depends on the other columns as before cannot be said yet. {advice}"
            )
    distance = _distance(roles, *sides)
    if distance > FARTHEST:
        return _undetermined(
            f"The other columns of the rows with a label have moved by {distance:.1f} standard deviations, expected at "
            f"most {FARTHEST}: hardly any rows of window and reference lie at the same place, so that it cannot be "
            "said whether the label depends on them as before. Learn from rows that lie there too."
        )
    moved = _has_moved(roles, *sides)
    choice = _choose(roles, reference, window, moved=moved)
    n_outputs = len(window["concept_scores"][0])
    parts = [_compared(roles, choice, reference, window, output, moved=moved) for output in range(n_outputs)]
    if is_number:
        again = _compared(roles, choice, counted, window, 1, moved=moved)
        parts[1] = {name: _less_sure(part, again[name]) for name, part in parts[1].items()}
    return _finding(parts, is_number=is_number)


def _undetermined(reason: str) -> Finding:
    return Finding("concept", None, None, 1.0, None, reason=reason)


def _compared(
    roles: Indices, choice: _Choice, reference: Sums, window: Sums, output: int, *, moved: bool
) -> dict[str, "_Part"]:
    """Tests of one residual."""
    one, two = (_side(sums, choice.rows).of(choice.functions) for sums in (reference, window))
    scores, roles = _without(_compare(one, two, output), roles[choice.functions], choice.nuisance)
    if moved:
        scores = scores.with_more_variance(_dispersion(scores, roles))
    return _output_parts(scores, roles, output, curves=not moved)


def _without(scores: "_Scores", roles: Indices, nuisance: Indices) -> tuple["_Scores", Indices]:
    """Differences less what the nuisance functions explain, and the roles of the functions that are left."""
    if not len(nuisance):
        return scores, roles
    others = np.setdiff1d(np.arange(len(roles)), nuisance)
    return scores.given(others, nuisance), roles[others]


def _side(sums: Sums, which: int) -> _Side:
    """Sums of a side over all labelled rows, 0, or over complete ones, 1."""
    names = "concept_rows", "concept_gram", "concept_scores", "concept_squares"
    n_rows, gram, scores, squares = (sums[name][which] for name in names)
    return _Side(float(n_rows), gram, scores, squares)


def _has_moved(roles: Indices, reference: _Side, window: _Side) -> bool:
    """Whether labelled rows have other values, or other missing cells, than those of the reference."""
    groups = [np.flatnonzero((roles == SLOPE) | (roles == MISSING)), np.flatnonzero(roles == CURVE)]
    p_values = [_means_p_value(reference, window, chosen) for chosen in groups if len(chosen)]
    return sidak(min(p_values, default=1.0), len(p_values)) < MOVED


def _means_p_value(reference: _Side, window: _Side, chosen: Indices) -> float:
    """p-value of some functions having the same means on both sides."""
    before, after = (side.gram[0, chosen] / max(side.gram[0, 0], 1.0) for side in (reference, window))
    both = reference.gram[0, 0] + window.gram[0, 0]
    square = (np.diag(reference.gram) + np.diag(window.gram))[chosen] / both
    mean = (reference.gram[0, chosen] + window.gram[0, chosen]) / both
    variance = np.maximum(square - mean**2, 1e-9)
    scale = 1.0 / max(reference.n_rows, 1.0) + 1.0 / max(window.n_rows, 1.0)
    score = (after - before) / np.sqrt(variance * scale)
    return sidak(2.0 * float(ndtr(-np.abs(score).max())), len(chosen))


def _distance(roles: Indices, reference: _Side, window: _Side) -> float:
    """Distance of the mean coordinates of both sides (Mahalanobis), in standard deviations within them."""
    chosen = np.flatnonzero(roles == SLOPE)
    sides = (reference, window)
    means = [side.gram[0, chosen] / max(side.gram[0, 0], 1.0) for side in sides]
    products = [side.gram[np.ix_(chosen, chosen)] / max(side.gram[0, 0], 1.0) for side in sides]
    within = np.mean([one - np.outer(mean, mean) for one, mean in zip(products, means, strict=True)], axis=0)
    scale = np.sqrt(np.maximum(np.diag(within), 1e-9))
    inverse = np.linalg.pinv(within / np.outer(scale, scale), rcond=SMALLEST_EIGENVALUE, hermitian=True)
    apart = (means[1] - means[0]) / scale
    return float(np.sqrt(max(apart @ inverse @ apart, 0.0)))


def _choose(roles: Indices, reference: Sums, window: Sums, *, moved: bool) -> _Choice:
    """Rows and functions that are compared.

    Where the other columns moved, what their missing cells hide has moved as well: rows are compared that have every
    column that the label depends on, by as many kinds of functions as they are enough for. Where they are too few,
    differences along missing cells are taken off.
    """
    everything = np.arange(len(roles))
    if not moved:
        return _Choice(0, everything, everything[:0])
    n_complete = min(float(sums["concept_rows"][1]) for sums in (reference, window))
    for kinds in KINDS_FOR_ROWS:
        functions = np.flatnonzero(np.isin(roles, kinds))
        if n_complete >= max(MIN_COMPLETE, ROWS_PER_FUNCTION * len(functions)):
            return _Choice(1, functions, everything[:0])
    return _Choice(0, everything, np.flatnonzero(roles == MISSING))


def _compare(reference: _Side, window: _Side, output: int) -> _Scores:
    both = reference.gram + window.gram
    scale = np.sqrt(np.maximum(np.diag(both), 1e-9))
    values, vectors = np.linalg.eigh(both / np.outer(scale, scale))
    kept = values > 1e-9 * values.max()
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T / np.outer(scale, scale)
    here, there = reference.gram @ inverse, window.gram @ inverse
    difference = here @ window.scores[output] - there @ reference.scores[output]
    covariance = here @ window.squares[output] @ here.T + there @ reference.squares[output] @ there.T
    return _Scores(difference, covariance, here @ window.gram, min(reference.n_rows, window.n_rows))


class _Part(NamedTuple):
    """Test of one kind of difference: the component, and its effect size."""

    component: Component | None
    effect: float


def _less_sure(one: _Part, two: _Part) -> _Part:
    """The test with the larger p-value."""
    if one.component is None or two.component is None:
        return _Part(None, 0.0)
    return max(one, two, key=lambda part: part.component.p_value if part.component is not None else 1.0)


def _output_parts(scores: _Scores, roles: Indices, seed: int, *, curves: bool) -> dict[str, _Part]:
    """Tests of one residual: its level, its slopes, and its curves."""
    constant, slopes, bends = (np.flatnonzero(roles == role) for role in (CONSTANT, SLOPE, CURVE))
    blocks = {"level": (constant, constant[:0]), "slopes": (slopes, constant)}
    if curves:
        blocks["curves"] = (bends, np.concatenate([constant, slopes]))
    found = {name: scores.given(*block) for name, block in blocks.items() if len(block[0])}
    return {name: _test_block(name, block, seed, together=name == "slopes") for name, block in found.items()}


def _dispersion(scores: _Scores, roles: Indices) -> float:
    """Mean squared standardised difference along curves and cells, given level and slopes; at least 1."""
    beyond, plain = (np.flatnonzero(np.isin(roles, kinds)) for kinds in ((CELL, CURVE), (CONSTANT, SLOPE)))
    block = scores.given(beyond, plain)
    usable = block.usable
    if len(usable) < 2:
        return 1.0
    score, _, whitening = _whitened(block, usable)
    return max(float(((score @ whitening) ** 2).mean()), 1.0)


def _whitened(block: _Scores, usable: Indices) -> tuple[Vector, Matrix, Matrix]:
    """Standardised differences, the symmetric root of their correlation, and their whitening matrix."""
    deviation = np.sqrt(np.diag(block.covariance)[usable])
    correlation = block.covariance[np.ix_(usable, usable)] / np.outer(deviation, deviation)
    values, vectors = np.linalg.eigh(correlation)
    max_rank = max(int(block.n_rows // ROWS_PER_RANK), 2)
    kept = np.flatnonzero(values > SMALLEST_EIGENVALUE)[::-1][:max_rank]
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return block.difference[usable] / deviation, root, vectors[:, kept] / np.sqrt(values[kept])


def _test_block(name: str, block: _Scores, seed: int, *, together: bool) -> _Part:
    """Test of some differences one by one, and together."""
    usable = block.usable
    if not len(usable):
        return _Part(None, 0.0)
    score, root, whitening = _whitened(block, usable)
    noise = np.random.default_rng([seed, *name.encode()]).standard_normal((N_DRAWS, len(usable)))
    # The symmetric root changes little where the correlation does.
    draws = noise @ root
    freedom = max(block.n_rows - 2.0, 1.0)
    least = 2.0 * ndtr(-np.abs(draws).max(axis=1))
    adjust = Adjustment(least)
    smallest = 2.0 * float(stdtr(freedom, -np.abs(score).max()))
    single = Component(name, adjust(smallest), adjust.all(least), degrees_of_freedom=len(usable))
    surest = usable[int(np.abs(score).argmax())]
    effect = float(abs(block.difference[surest]) / block.information[surest, surest])
    if not together or len(usable) < 2:
        return _Part(single, effect)
    statistic, simulated = float(((score @ whitening) ** 2).sum()), ((draws @ whitening) ** 2).sum(axis=1)
    rank = whitening.shape[1]
    whole = Component(name, float(chdtrc(rank, statistic)), chdtrc(rank, simulated), statistic, rank)
    return _Part(combine(name, [(single, 0.5), (whole, 0.5)]), effect)


def _finding(outputs: list[dict[str, _Part]], *, is_number: bool) -> Finding:
    """Finding of all residuals: of a number its mean and its spread, of a category each class."""
    tests: list[tuple[Component | None, float]] = []
    effects: dict[str, list[tuple[float, float]]] = {}
    for output, parts in enumerate(outputs):
        is_spread = is_number and output == 1
        for name, part in parts.items():
            tests.append((part.component, (SPREAD_WEIGHTS if is_spread else WEIGHTS)[name]))
            if part.component is not None:
                kind = "spread" if is_spread else name
                effects.setdefault(kind, []).append((part.component.p_value, part.effect))
    whole = combine("concept", tests)
    if whole is None:
        return _undetermined("Window and reference have no labelled rows at the same values of the other columns.")
    found = tuple(
        Finding(kind, None, None, max(sidak(min(tests)[0], len(tests)), SMALLEST_P), min(tests)[1])
        for kind, tests in effects.items()
    )
    surest = min(found, key=lambda part: part.p_value)
    return Finding("concept", None, None, max(whole.p_value, SMALLEST_P), surest.effect_size, parts=found)
