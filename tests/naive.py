"""Slow and obvious versions of the algorithms: loops straight from the equations of the paper and the documentation."""

import math
from itertools import combinations, combinations_with_replacement

import numpy as np


def triangular_degree(nearest, distance, error):
    """Paper: Eq. (4), with triangles that do not meet sharing nothing."""
    c_1 = nearest + error
    a_1 = nearest - error
    a_z = distance - error
    side = max(c_1 - a_z, 0.0)
    return (side / (c_1 - a_1)) ** 2


def gaussian_degree(nearest, distance, error):
    """Paper: Eq. (6)."""
    return 1.0 + math.erf((nearest - distance) / (2.0 * math.sqrt(2.0) * error))


def crisp_degree(nearest, distance, error):
    return 1.0 if distance == nearest else 0.0


DEGREES = {"triangular": triangular_degree, "gaussian": gaussian_degree, "crisp": crisp_degree}


def weights(distances, error, membership, top_q):
    """Paper: Eq. (3) and (8), one row and one bin at a time; crisp is the nearest bin, the first of equals."""
    table = []
    for row in distances:
        ranked = sorted(range(len(row)), key=lambda z: row[z])
        chosen = ranked[: {"crisp": 1}.get(membership, top_q)]
        degrees = {z: DEGREES[membership](row[ranked[0]], row[z], error) for z in chosen}
        total = sum(degrees.values())
        table.append([degrees.get(z, 0.0) / total for z in range(len(row))])
    return table


def chi_square(first, second):
    """Paper: Eq. (chi-square) of Section II.D, cell by cell."""
    total = sum(first) + sum(second)
    statistic = 0.0
    for row in (first, second):
        for z, observed in enumerate(row):
            expected = sum(row) * (first[z] + second[z]) / total
            statistic += (observed - expected) ** 2 / expected
    return statistic


def residual_error(truth, predicted):
    """Paper: Eq. (2)."""
    return math.sqrt(sum((d - e) ** 2 for d, e in zip(truth, predicted, strict=True)) / (len(truth) - 2))


def pair_features(missing_first, missing_second, filled_first, filled_second):
    """Paper: Alg. 1, lines 9 to 13, for one pair, after indicators of missing cells; filled_* has a row per imputer."""
    distances = [math.dist(one, two) for one, two in zip(filled_first, filled_second, strict=True)]
    return [float(gap) for gap in missing_first] + [float(gap) for gap in missing_second] + distances


def row_statistics(profile, values, missing, averaged=1_024, enough_bits=10.0):
    """`gapdrift.counting.statistics`, for one row: location, products of pairs, bins, rates and patterns.

    ``values`` has NaN in its missing matrix columns, ``missing`` one entry for each input column.
    """
    scores = profile.scores.transform(values[None])[0]
    hidden = [i for i in range(len(scores)) if math.isnan(scores[i])]
    seen = [i for i in range(len(scores)) if not math.isnan(scores[i])]
    covariance = np.linalg.inv(profile.precision.matrix)
    # The expected row is a linear function of the row: it keeps what is seen.
    expect = np.eye(len(scores))
    if hidden:
        expect[hidden] = 0.0
    if hidden and seen:
        weights = covariance[np.ix_(hidden, seen)] @ np.linalg.inv(covariance[np.ix_(seen, seen)])
        expect[np.ix_(hidden, seen)] = weights
    centred = np.where(np.isnan(scores), 0.0, scores - profile.mean)
    expected = expect @ centred
    lacking = profile.moments - expect @ profile.moments @ expect.T
    pairs = combinations_with_replacement(profile.paired, 2)
    products = [expected[i] * expected[j] + lacking[i, j] for i, j in pairs]
    entropy = sum(profile.entropy[column] for column in range(len(missing)) if not missing[column])
    n_completions = 1 if not hidden else profile.n_spread if entropy >= enough_bits else averaged
    bins = np.zeros(len(profile.centres))
    for residual in _residuals(profile, values, hidden, expect, covariance, n_completions):
        position = profile.directions.T @ (expected + residual)
        distances = [sum((a - b) ** 2 for a, b in zip(position, centre, strict=True)) for centre in profile.centres]
        bins[int(np.argmin(distances))] += 1.0 / n_completions
    number = sum(bool(gone) for gone in missing)
    patterns = [float(missing[i] and missing[j]) for i, j in combinations(profile.missing_paired, 2)]
    return expected, np.array(products), bins, np.array(missing, dtype=float), np.array([*patterns, number**2])


def _residuals(profile, values, hidden, expect, covariance, n_completions):
    """Residuals of the donors that a row's observed values choose."""
    if not hidden:
        yield np.zeros(len(expect))
        return
    first = _first_donor(profile, values)
    for number in range(n_completions):
        place = (first + number * len(profile.donors) // n_completions) % len(profile.donors)
        donor = covariance @ profile.donors[place]
        yield donor - expect @ donor


def _first_donor(profile, values):
    """A hash of the cells of the observed values in the tables of scores; a ranked one with the knot at its end."""
    mixers = np.random.default_rng(20_001).integers(2**63, size=len(values), dtype=np.uint64)
    table, total = profile.scores.table, 0
    for column, value in enumerate(values):
        if not math.isnan(value):
            cell = int(table.keys(np.array([[v] for v in values]), np.isnan(values)[:, None])[column, 0])
            cell = cell // 2 if column in table.ranked else cell
            total += (2 * int(mixers[column]) + 1) * cell
    hashed = (total % 2**64 * 0x9E3779B97F4A7C15 % 2**64) >> 32
    return hashed * len(profile.donors) >> 32


def observed_products(scores, missing, owner, is_number):
    """`gapdrift.counting.observed`, of one row: products of u, w and o, of three u, of c, s and o, of two u and an o.

    ``scores`` is centred and has anything in its missing matrix columns.
    """
    gone = [missing[column] for column in owner]
    steps = [0.0 if gone[i] else min(max(round(32.0 * scores[i]), -80), 80) for i in range(len(scores))]
    folded = [round(32 * (1 - math.cos(1.5 * steps[i] / 32))) for i in range(len(scores)) if is_number[i]]
    present = [float(not away) for away in missing]
    cells = [*steps, *folded, *present]
    products = np.array([[one * two for two in cells] for one in cells])
    triples = []
    for i, j, k in combinations(range(len(scores)), 3):
        if len({owner[i], owner[j], owner[k]}) == 3:
            bounded = [min(max(steps[place], -48), 48) for place in (i, j, k)]
            common = present[owner[i]] * present[owner[j]] * present[owner[k]]
            triples.append((math.prod(bounded), common))
    numbers = [i for i in range(len(scores)) if is_number[i]]
    angles = [1.5 * (steps[i] / 32) ** 2 for i in numbers]
    there = [present[owner[i]] for i in numbers]
    waves = [round(32 * wave(a)) * o for wave in (math.cos, math.sin) for a, o in zip(angles, there, strict=True)]
    rings = np.array([[one * two for two in (*waves, *there)] for one in (*waves, *there)])
    pairs = [(i, j) for i, j in combinations(range(len(scores)), 2) if owner[i] != owner[j]]
    joint = [
        [[steps[i] * steps[j] * o for o in present] for i, j in pairs],
        [[present[owner[i]] * present[owner[j]] * o for o in present] for i, j in pairs],
    ]
    return products, np.array(triples).reshape(-1, 2).T, rings, np.array(joint)


def concept_functions(place, is_number, missing):
    """All functions of a row: constant, coordinates, bends, products, missing cells, and these times coordinates."""
    values = [1.0, *place]
    for knee in (-1.0, 1.0):
        for value, number in zip(place, is_number, strict=True):
            if number:
                values.append(max(math.copysign(1.0, knee) * (value - knee), 0.0))
    values += [one * two for one, two in combinations(place, 2)]
    values += [float(cell) for cell in missing]
    values += [float(cell) * value for cell in missing for value in place]
    return values


def concept_sums(functions, weights, residuals):
    """Documentation: sums of w p p', w p e and w^2 p p' e^2, one row, one function and one residual at a time."""
    size, n_outputs = len(functions[0]), len(residuals[0])
    gram, scores, squares = np.zeros((size, size)), np.zeros((n_outputs, size)), np.zeros((n_outputs, size, size))
    for p, w, e in zip(functions, weights, residuals, strict=True):
        for i in range(size):
            for j in range(size):
                gram[i, j] += w * p[i] * p[j]
                for output in range(n_outputs):
                    squares[output, i, j] += w**2 * p[i] * p[j] * e[output] ** 2
            for output in range(n_outputs):
                scores[output, i] += w * p[i] * e[output]
    return gram, scores, squares
