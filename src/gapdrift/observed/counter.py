"""The counter: rows to the sums of their functions."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from gapdrift.observed.functions import Functions
from gapdrift.tables.encoding import Encoded

__all__ = ["count", "zeros"]

Sums = dict[str, NDArray[np.float64]]

CHUNK = 8_192
"""Rows whose codes are made at once: they stay in the cache."""

EXACT_ROWS = 2_048
"""Rows whose products are added up in single precision: 2,048 products of at most 6,400 fit into its 24 bits."""


def zeros(functions: Functions) -> Sums:
    """Sums over no rows."""
    size = len(functions.function_owner) + len(functions.inputs)
    n_pairs, n_columns, n_inputs = len(functions.pairs[0]), len(functions.columns), len(functions.inputs)
    return {
        "cells": np.zeros(functions.starts[-1]),
        "products": np.zeros((size, size)),
        "triples": np.zeros((n_pairs, n_columns + 2 * n_inputs if n_pairs else 0)),
    }


def count(functions: Functions, rows: Encoded) -> Sums:
    """Sums over rows of the functions of each.

    *cells*: how often each code occurs, of all columns one after the other. *products*: [u | w | o]'[u | w | o].
    *triples*, where columns are few: of the products of two u, with each u and each o; and of their o, with each o.
    """
    sums = zeros(functions)
    for start in range(0, len(rows), CHUNK):
        part = slice(start, start + CHUNK)
        codes = functions.codes(Encoded(rows.values[part], rows.missing[part]))
        add(functions, codes, sums)
    return sums


def add(functions: Functions, codes: NDArray[np.uint16], sums: Mapping[str, NDArray[np.float64]]) -> None:
    """Add rows, given by their codes, to sums."""
    starts = functions.starts
    for place, own in enumerate(codes):
        first, last = starts[place], starts[place + 1]
        sums["cells"][first:last] += np.bincount(own, minlength=last - first)
    for start in range(0, codes.shape[1], EXACT_ROWS):
        values, observed = functions.values(codes[:, start : start + EXACT_ROWS])
        block = np.hstack([values, observed])
        sums["products"][:] += block.T @ block
        if len(functions.pairs[0]):
            sums["triples"][:] += triples(functions, values, observed)


def triples(functions: Functions, values: NDArray[np.float32], observed: NDArray[np.float32]) -> NDArray[np.float64]:
    """Sums of the products of two u with each u and o, and of their o with each o: (pairs, columns + 2 inputs)."""
    first, second = functions.pairs
    own, scores, seen = functions.function_owner, functions.bounded(values).astype(float), observed.astype(float)
    of_two = scores[:, first] * scores[:, second]
    with_two = seen[:, own[first]] * seen[:, own[second]]
    found: NDArray[np.float64] = np.hstack([of_two.T @ np.hstack([scores, seen]), with_two.T @ seen])
    return found
