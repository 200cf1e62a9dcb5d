"""Tests of P(y), and the findings of a table with a label together."""

from collections.abc import Mapping

import numpy as np

from gapdrift._typing import Vector
from gapdrift.inference.columns import column_tests
from gapdrift.inference.combination import sidak
from gapdrift.inference.pearson import SMALLEST_P
from gapdrift.results import Finding
from gapdrift.tables.histograms import HistogramAxis

__all__ = ["SHARES", "combine_findings", "label_finding", "values_with_label"]

SHARES = {"values": 0.5, "concept": 0.4, "missingness": 0.1}
"""Shares of the false alarms of a verdict; what was not tested leaves its share to the others."""

LABEL_SHARE = 0.2
"""Share of those of `values` that the label has."""


def label_finding(axis: HistogramAxis, reference: Vector, window: Vector) -> Finding:
    """Finding of P(y): the distribution of the labels that are there.

    Parameters
    ----------
    axis : HistogramAxis
    reference, window : (cells,) arrays
        Labels of each cell.
    """
    (test,) = column_tests((axis,), [(reference, window)], np.zeros(1))
    if test is None:
        reason = f"{window.sum():.0f} row(s) of the window and {reference.sum():.0f} of the reference have a label."
        return Finding("label", None, None, 1.0, None, reason=f"{reason} That is too few to compare them.")
    return Finding("label", None, None, max(test.p_value, SMALLEST_P), test.effect_size)


def values_with_label(covariates: Finding, label: Finding) -> Finding:
    """Finding of the values, which of P(x) and P(y) moved: ``parts`` are both."""
    parts = covariates, label
    if not covariates.determined:
        return Finding("values", None, None, 1.0, None, reason=covariates.reason, parts=parts)
    shares = {"covariates": 1.0 - LABEL_SHARE, "label": LABEL_SHARE}
    p_value = combine_findings(parts, shares)
    effects = [part.effect_size or 0.0 for part in parts if part.determined]
    return Finding("values", None, None, p_value, max(effects), parts=parts)


def combine_findings(findings: tuple[Finding, ...], shares: Mapping[str, float]) -> float:
    """p-value of some findings together, each with its share of the false alarms.

    Parameters
    ----------
    findings : tuple of Finding
        Those that could not be tested leave their shares to the others.
    shares : mapping of str to float
        By name.

    Examples
    --------
    >>> found = Finding("values", None, None, 0.03, 0.1), Finding("concept", None, None, 0.5, 0.1)
    >>> round(combine_findings(found, {"values": 0.5, "concept": 0.5}), 4)
    0.0591
    """
    tested = [finding for finding in findings if finding.determined]
    total = sum(shares[finding.name] for finding in tested)
    p_values = [sidak(finding.p_value, total / shares[finding.name]) for finding in tested]
    return max(min(p_values, default=1.0), SMALLEST_P)
