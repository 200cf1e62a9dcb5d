"""Slow and obvious versions of the algorithms: loops straight from the equations of the paper."""

import math


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
