"""What `gapdrift.counting` counts, in loops over cells: slow and obvious."""

import math
from fractions import Fraction
from itertools import combinations


def code_of(axis, is_number, cells):
    """Code of one cell, given its matrix columns."""
    if any(math.isnan(cell) for cell in cells):
        return axis.n_codes
    if is_number:
        return sum(1 for edge in axis.edges.tolist() if cells[0] >= edge)
    return [cell > 0 for cell in cells].index(True) if cells else axis.n_codes


def rows_of(functions, values):
    """Codes, u, w and o of each row, all in lists; w of numbers alone."""
    owner, found = functions.owner.tolist(), []
    for cells in values.tolist():
        codes, scores, waves, observed = [], [], [], []
        for place, axis in enumerate(functions.axes):
            own = [cell for cell, its in zip(cells, owner, strict=True) if its == place]
            code = code_of(axis, functions.is_number[place], own)
            is_observed = code != axis.n_codes
            steps = axis.steps[code].tolist() if is_observed else [0] * len(own)
            codes.append(code)
            scores += steps
            if functions.is_number[place]:
                waves += [round(32.0 * (1.0 - math.cos(1.5 * steps[0] / 32.0)))]
            observed.append(int(is_observed))
        found.append((codes, scores, waves, observed))
    return found


def count(functions, values, centres=None):
    """Sums over rows as nested lists, of at most 300 matrix columns."""
    n_codes = [axis.n_codes + 1 for axis in functions.axes]
    owner = functions.owner.tolist()
    size = len(owner) + int(sum(functions.is_number)) + len(n_codes)
    cells, products = [[0] * size for size in n_codes], [[0] * size for _ in range(size)]
    pairs = [(i, j) for i, j in combinations(range(len(owner)), 2) if owner[i] != owner[j]] if len(owner) <= 10 else []
    triples = [[0] * (len(owner) + 2 * len(n_codes)) for _ in pairs]
    regions = [0] * (1 if centres is None else len(centres) + 1)
    for codes, scores, waves, observed in rows_of(functions, values):
        for place, code in enumerate(codes):
            cells[place][code] += 1
        row = scores + waves + observed
        for i, one in enumerate(row):
            for j, two in enumerate(row):
                products[i][j] += one * two
        bounded = [min(max(score, -48), 48) for score in scores]
        for number, (i, j) in enumerate(pairs):
            both = observed[owner[i]] * observed[owner[j]]
            line = [bounded[i] * bounded[j] * other for other in bounded + observed]
            line += [both * other for other in observed]
            triples[number] = [sum(two) for two in zip(triples[number], line, strict=True)]
        if centres is not None:
            regions[region_of(scores, [observed[its] for its in owner], centres)] += 1
    return {
        "cells": [number for own in cells for number in own],
        "products": products,
        "triples": triples,
        "regions": regions,
    }


def region_of(scores, observed, centres):
    """Region with the smallest mean of squares over observed cells, the first of equals; after the last where none."""
    if not any(observed):
        return len(centres)
    distances = []
    for centre in centres.tolist():
        squares = [(u - c) ** 2 for u, c, is_seen in zip(scores, centre, observed, strict=True) if is_seen]
        distances.append(Fraction(sum(squares), len(squares)))
    return distances.index(min(distances))
