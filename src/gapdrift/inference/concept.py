"""Tests of P(y | x): whether the label depends on the other columns as before, wherever these have moved to."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from gapdrift._typing import Indices, Matrix, Vector
from gapdrift.counting.functions import CATEGORY_STEPS, STEPS
from gapdrift.counting.label_model import CURVE, N_PAIRS, OTHER, SLOPE, ConceptModel
from gapdrift.inference.blocks import Entries, largest, whitened_sum
from gapdrift.inference.combination import sidak
from gapdrift.inference.pearson import SMALLEST_P
from gapdrift.results import Finding

__all__ = ["concept_finding"]

Sums = Mapping[str, NDArray[np.float64]]

MIN_LABELS, MIN_COMPLETE = 20, 50
"""Labelled rows of either side; and, where the other columns moved, those with every column that matters."""

MOVED = 0.1
"""p-value of equal means of the functions on both sides, below which the other columns have moved."""

LEAST_KNOWN = 1e-4
"""Share of what is known of a function that others do not explain, below which it takes no part."""

WEIGHTS = {"level": 1.0, "slopes": 1.0, "curves": 0.5, "spread": 0.7}
"""Weights of the tests: of a constant, straight lines and bends of the label's mean; and of its spread."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Differences of one residual between window and reference, for each function.

    Parameters
    ----------
    difference : (functions,) array
        U = S_r S^-1 E_w - S_w S^-1 E_r, with S the products and E the scores of either side: what a regression on the
        functions over both sides leaves over in the window.
    covariance : (functions, functions) array
        Whatever the spread of the residuals (Eicker, Huber, White).
    known : (functions, functions) array
        S_r S^-1 S_w: by how much U grows with a coefficient that differs between the sides.
    n_rows : float
        Of the smaller side.
    """

    difference: Vector
    covariance: Matrix
    known: Matrix
    n_rows: float

    def given(self, chosen: Indices, others: Indices) -> "Scores":
        """Differences of some functions, less what differences of others explain."""
        transfer = np.eye(len(self.difference))[chosen]
        if len(others):
            inverse = np.linalg.pinv(self.known[np.ix_(others, others)], rcond=1e-8, hermitian=True)
            transfer[:, others] -= self.known[np.ix_(chosen, others)] @ inverse
        covariance, known = (transfer @ each @ transfer.T for each in (self.covariance, self.known))
        used = np.diag(known) > LEAST_KNOWN * np.diag(self.known)[chosen]
        used &= np.diag(covariance) > 1e-9 * np.diag(self.covariance)[chosen]
        both = np.ix_(used, used)
        return Scores((transfer @ self.difference)[used], covariance[both], known[both], self.n_rows)

    @property
    def standard(self) -> Vector:
        """Standardised differences."""
        return self.difference / np.sqrt(np.diag(self.covariance))

    def test(self, *, together: bool) -> tuple[float, float]:
        """p-value, by the largest or by all as well; and the surest difference for a deviation of its function."""
        z, ones, deviation = self.standard, np.ones(len(self.difference)), np.sqrt(np.diag(self.covariance))
        p_value = largest(Entries(z, 0.0 * ones, 6.0 / max(self.n_rows - 6.0, 6.0) * ones, ones), 1.0) or 1.0
        if together and len(z) > 1:
            correlation = self.covariance / np.outer(deviation, deviation)
            p_value = sidak(min(p_value, whitened_sum(z, ones, correlation, self.n_rows, 0.0).p_value), 2.0)
        surest = int(np.abs(z).argmax())
        return p_value, float(abs(self.difference[surest]) / np.sqrt(self.known[surest, surest]))


def concept_finding(model: ConceptModel, reference: Sums, window: Sums) -> Finding:
    """Finding of P(y | x), with its parts.

    Parameters
    ----------
    model : ConceptModel
    reference, window : mappings
        Sums of `gapdrift.counting.label_model`.

    Notes
    -----
    Residuals are regressed on the functions of a row on both sides together, and it is tested whether coefficients of
    the window differ (Chow). What the regression takes off is what P(x) explains. Where the other columns moved, what
    their missing cells hide has moved as well: rows are compared that have every column that matters. Of k differences
    along steps of predictions and chosen products the largest square is about 2 log k by chance; variances are raised
    until it is at most log k, since by so much predictions are wrong where the reference has few rows.
    """
    for sums, name, advice in (
        (window, "window", "Test rows again once they are labelled."),
        (reference, "reference", "Compare with more rows that have a label."),
    ):
        if _n_rows(sums, 0) < MIN_LABELS:
            return _undetermined(
                f"{_n_rows(sums, 0):.0f} row(s) of the {name} have a label, expected at least {MIN_LABELS} (rows "
                "without a column that it depends on, and that the reference hardly ever lacks, do not count): whether "
                f"the label depends on the other columns as before cannot be said yet. {advice}"
            )
    moved = _has_moved(model.all_roles, reference, window)
    n_complete = min(_n_rows(sums, 1) for sums in (reference, window))
    if moved and n_complete < MIN_COMPLETE:
        return _undetermined(
            f"The other columns moved, and {n_complete:.0f} labelled row(s) of one side have all columns that the "
            f"label depends on, with values that the reference has, expected at least {MIN_COMPLETE}: whether it "
            "depends on them as before cannot be said. Compare more rows, or learn from rows that lie there too."
        )
    tests: dict[str, list[tuple[float, float]]] = {name: [] for name in WEIGHTS}
    for output in range(reference["concept_scores"].shape[1]):
        for name, found in _tests(model, _compare(reference, window, int(moved), output), output, moved=moved).items():
            tests[name].append(found)
    return _finding(tests, STEPS if model.is_number else CATEGORY_STEPS)


def _undetermined(reason: str) -> Finding:
    return Finding("concept", None, None, 1.0, None, reason=reason)


def _n_rows(sums: Sums, which: int) -> float:
    return float(sums["concept_products"][which, 0, 0]) / N_PAIRS


def _has_moved(roles: Indices, reference: Sums, window: Sums) -> bool:
    """Whether means of the functions differ between labelled rows of both sides."""
    one, two = (sums["concept_products"][0] for sums in (reference, window))
    both = (one + two) / (one + two)[0, 0]
    variance = np.maximum(np.diag(both) - both[0] ** 2, 1e-9) * (1.0 / one[0, 0] + 1.0 / two[0, 0]) * N_PAIRS
    p_values = 2.0 * ndtr(-np.abs(two[0] / two[0, 0] - one[0] / one[0, 0]) / np.sqrt(variance))
    groups = [p_values[roles == SLOPE], p_values[(roles == CURVE) | (roles == OTHER)]]
    smallest = [sidak(float(group.min()), len(group)) for group in groups if len(group)]
    return sidak(min(smallest), len(smallest)) < MOVED


def _compare(reference: Sums, window: Sums, which: int, output: int) -> Scores:
    """Differences of one residual, over all rows (0) or those with every column that matters (1)."""
    sides = reference, window
    one, two = (sums["concept_products"][which] for sums in sides)
    scores, squares = ([sums[f"concept_{name}"][which, output] for sums in sides] for name in ("scores", "squares"))
    scale = 1.0 / np.sqrt(np.maximum(np.diag(one + two), 1e-9))
    inverse = np.linalg.pinv((one + two) * np.outer(scale, scale), rcond=1e-9, hermitian=True) * np.outer(scale, scale)
    here, there = one @ inverse, two @ inverse
    covariance = here @ squares[1] @ here.T + there @ squares[0] @ there.T
    n_rows = min(_n_rows(sums, which) for sums in sides)
    return Scores(here @ scores[1] - there @ scores[0], N_PAIRS * covariance, here @ two, n_rows)


def _tests(model: ConceptModel, scores: Scores, output: int, *, moved: bool) -> dict[str, tuple[float, float]]:
    """Tests of one residual: p-values and effect sizes."""
    constant, slopes, curves, others = (np.flatnonzero(model.all_roles == role) for role in range(4))
    straight = np.concatenate([constant, slopes])
    if moved:
        beyond = scores.given(others, straight)
        largest_beyond = float((beyond.standard**2).max(initial=0.0))
        factor = max(largest_beyond / np.log(len(beyond.difference) + 1.0), 1.0) if largest_beyond else 1.0
        scores = replace(scores, covariance=factor * scores.covariance)
    blocks = {"level": scores.given(constant, constant[:0]), "slopes": scores.given(slopes, constant)}
    if not moved:
        blocks["curves"] = scores.given(curves, straight)
    if model.is_number and output == 1:
        blocks = {"spread": blocks["level"]}
    rows = max(float(scores.known[0, 0]), 1e-9)
    found = {name: block.test(together=name == "slopes") for name, block in blocks.items() if len(block.difference)}
    return {name: (p_value, float(effect / np.sqrt(rows))) for name, (p_value, effect) in found.items()}


def _finding(tests: Mapping[str, list[tuple[float, float]]], steps: float) -> Finding:
    """Finding of all residuals: of a number its mean and its spread, of classes each of them."""
    total = sum(WEIGHTS[name] * len(own) for name, own in tests.items())
    if not total:
        return _undetermined("Window and reference have no labelled rows at the same values of the other columns.")
    p_value = min(sidak(p, total / WEIGHTS[name]) for name, own in tests.items() for p, _ in own)
    parts = [
        Finding(name, None, None, max(sidak(min(own)[0], len(own)), SMALLEST_P), min(own)[1] / steps)
        for name, own in tests.items()
        if own
    ]
    surest = min(parts, key=lambda part: part.p_value)
    return Finding("concept", None, None, max(p_value, SMALLEST_P), surest.effect_size, parts=tuple(parts))
