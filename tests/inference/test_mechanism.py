import numpy as np
import pytest
from scipy.special import ndtr

import gapdrift as gd
from gapdrift.inference.combination import sidak
from gapdrift.inference.mechanism import (
    UNSEEN_CORRELATION,
    Mechanism,
    _by_number,
    _in_common,
    _Shifts,
    explained_by,
)


def parts_of(result):
    found = {part.name: part.p_value for part in result.values.parts}
    return found | {part.name: part.p_value for part in result.missingness.parts}


def conditions(p_values):
    return Mechanism.unchanged(len(p_values))._replace(p_values=np.array(p_values))


def test_conditions_that_differ_by_chance_explain_nothing():
    """Of twenty columns one has a p-value of 0.03 more often than not."""
    p_values = np.full(20, 0.5)
    p_values[3] = 0.03
    assert not explained_by(conditions(p_values)).any()
    p_values[3] = 1e-4
    assert explained_by(conditions(p_values))[3] == pytest.approx(3.89, abs=0.01)
    assert explained_by(conditions([0.03, 1.0, 1.0]))[0] == pytest.approx(2.17, abs=0.01)


def test_many_columns_show_together_that_one_selects_their_cells():
    """150 rows, of 40 columns each missing by the first one: none need show it, all together do."""
    rng = np.random.default_rng(5)

    def draw(n_rows, slope):
        rows = rng.normal(size=(n_rows, 41))
        missing = rng.random((n_rows, 40)) < ndtr(slope * rows[:, :1] - 0.4)
        rows[:, 1:] = np.where(missing, np.nan, rows[:, 1:])
        return rows

    detector = gd.DriftDetector(random_state=0).fit(draw(150, 0.0))
    selected, calm = (detector.reference_.comparison(detector.count(draw(2_000, slope))) for slope in (0.4, 0.0))
    assert selected.observed.mechanism.together < 1e-6
    assert selected.observed.explained[1:].min() > 1.0
    assert calm.observed.mechanism.together > 0.01


@pytest.mark.parametrize("blocks", [False, True])
def test_conditions_hold_their_level_whether_or_not_columns_are_missing_together(blocks):
    """300 null windows, 12 columns; bounds of four standard deviations."""
    rng = np.random.default_rng(6)

    def draw(n_rows):
        rows = rng.normal(size=(n_rows, 12))
        missing = rng.random((n_rows, 1 if blocks else 8)) < 0.3
        rows[:, 4:] = np.where(missing, np.nan, rows[:, 4:])
        return rows

    alarms = 0
    for _ in range(30):
        detector = gd.DriftDetector(random_state=0).fit(draw(200))
        for _ in range(10):
            found = detector.reference_.comparison(detector.count(draw(200)))
            alarms += found.observed.mechanism.together < 0.05
    assert alarms <= 32


def test_conditions_hold_their_level_where_others_vary_more_beside_missing_cells():
    """200 null windows: large values, of which all columns have many in the same rows, are missing more often."""
    rng = np.random.default_rng(9)

    def draw(n_rows):
        rows = rng.normal(size=(n_rows, 8)) / np.abs(rng.normal(size=(n_rows, 1)))
        rows[(rng.random(rows.shape) < 0.3) & (np.abs(rows) > 2.0)] = np.nan
        return rows

    alarms = np.zeros(2)
    for _ in range(20):
        detector = gd.DriftDetector(random_state=0).fit(draw(500))
        for _ in range(10):
            mechanism = detector.reference_.comparison(detector.count(draw(500))).observed.mechanism
            alarms += mechanism.together < 0.05, sidak(mechanism.p_values.min(), 8) < 0.05
    assert alarms.max() <= 23


def test_a_column_that_is_independent_of_what_selects_its_cells_is_hardly_moved_by_it():
    rng = np.random.default_rng(4)

    def draw(slope):
        rows = rng.normal(size=(2_000, 3))
        rows[:, 1] = rows[:, 0] + 0.5 * rows[:, 1]
        for column in (1, 2):
            rows[rng.random(2_000) < ndtr(slope * rows[:, 0] - 0.4), column] = np.nan
        return rows

    detector = gd.DriftDetector(random_state=0).fit(draw(0.0))
    found = detector.reference_.comparison(detector.count(draw(0.5))).observed
    assert found.mechanism.of_own[1] > 5.0
    assert found.mechanism.of_own[2] < UNSEEN_CORRELATION * found.mechanism.of_own[1]
    assert found.explained[1:].min() > 5.0
    assert found.columns[1].p_value > 0.05


def selected(rows, curve, column, rng):
    rows[rng.random(len(rows)) < curve, column] = np.nan
    return rows


def values_where_cells_are_selected(reference, window, n_windows=10):
    found = []
    for seed in range(n_windows):
        rng = np.random.default_rng(seed)
        detector = gd.DriftDetector(random_state=seed).fit(reference(rng))
        found.append(detector.test(window(rng)).values.p_value)
    return np.array(found)


def test_a_copy_of_what_selects_its_cells_may_move_more_than_it_does():
    """Large and small values of the first column hide the copy of it: u and w follow such a curve by 0.7 to 1."""

    def draw(n_rows, by_size, rng):
        rows = np.repeat(rng.normal(size=(n_rows, 1)), 2, axis=1)
        return selected(rows, ndtr(2.0 * np.abs(rows[:, 0]) - 2.2) if by_size else 0.3, 1, rng)

    found = values_where_cells_are_selected(lambda rng: draw(3_000, False, rng), lambda rng: draw(12_000, True, rng))
    assert (found < 0.05).sum() <= 2


def test_what_selects_a_handful_of_observed_cells_is_seen():
    """Fifteen to twenty cells of a copy are observed, where the first column is small."""

    def draw(n_rows, by_value, rng):
        rows = np.hstack([np.repeat(rng.normal(size=(n_rows, 1)), 2, axis=1), rng.normal(size=(n_rows, 1))])
        return selected(rows, ndtr(1.6 * rows[:, 0] + 1.6) if by_value else 0.8, 1, rng)

    found = values_where_cells_are_selected(lambda rng: draw(5_000, False, rng), lambda rng: draw(90, True, rng))
    assert (found < 0.05).sum() <= 2


def test_a_spread_that_follows_what_selects_cells_is_explained():
    """The second column's spread depends on the first one, by whose size it is missing: no u or w shows all of it."""

    def draw(n_rows, by_size, rng):
        rows = rng.normal(size=(n_rows, 2))
        rows[:, 1] *= np.exp(0.7 * rows[:, 0])
        return selected(rows, ndtr(1.6 * np.abs(rows[:, 0]) - 1.1) if by_size else 0.55, 1, rng)

    found = values_where_cells_are_selected(lambda rng: draw(10_000, False, rng), lambda rng: draw(16_000, True, rng))
    assert (found < 0.05).sum() <= 2


def test_few_missing_cells_of_a_small_window_are_not_missing_elsewhere():
    # Large values of the first column, and so of the second, are missing, on both sides alike.
    def draw(n_rows, rng):
        rows = rng.normal(size=(n_rows, 1)) + 0.3 * rng.normal(size=(n_rows, 3))
        rows[rows[:, 0] > 1.1, 0] = np.nan
        return rows

    rng = np.random.default_rng(8)
    detector = gd.DriftDetector(random_state=0).fit(draw(3_000, rng))
    p_values = [parts_of(detector.test(draw(50, rng))).get("conditions", 1.0) for _ in range(20)]
    assert min(p_values) > 1e-4


@pytest.mark.parametrize("where", [lambda x: x > 0, lambda x: np.abs(x) > 0.7], ids=["value", "size"])
def test_conditions_of_missing_values_are_told_from_values(where):
    """MCAR becomes MAR at the same rate, and the second column is bent: values have not changed."""
    rng = np.random.default_rng(0)

    def sides(conditional):
        x = rng.normal(size=(2_000, 1))
        rows = np.hstack([x, x**2 + 0.3 * rng.normal(size=x.shape)])
        rate = 0.6 * where(x[:, 0]) if conditional else 0.3
        rows[rng.random(2_000) < rate, 1] = np.nan
        return rows

    detector = gd.DriftDetector(random_state=0).fit(sides(False))
    same, other = detector.test(sides(False)), detector.test(sides(True))
    assert parts_of(same)["conditions"] > 0.01
    assert parts_of(other)["conditions"] < 1e-9
    assert parts_of(other)["rates"] > 0.01
    assert other.values.p_value > 0.01


def test_a_shift_does_not_excuse_itself():
    """How far values lie apart at which cells are missing is that of both sides: opposite shifts leave nothing."""
    few, rows = np.full((1, 1), 10.0), np.array([100.0])

    def side(shift):
        return _Shifts(np.full((1, 1), shift), np.full((1, 1), 0.002), np.full((1, 1), 20.0), np.array([900.0]), rows)

    opposite, alike = _by_number(side(5.0), side(-5.0), few), _by_number(side(5.0), side(5.0), few)
    assert opposite.item() == 0.0
    # Cells missing at values 25 apart from the mean: a rate that varies by 0.2 x 0.8 / 100 moves the mean by so much.
    assert alike.item() == pytest.approx(2 * 25.0**2 * 0.2 * 0.8 / (100 * 900))


def test_conditions_that_change_are_found_in_few_rows():
    """300 against 300 rows, a tenth of the cells missing, which come to be missing at large values of one column."""
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        reference, window = (rng.normal(size=(300, 8)) for _ in range(2))
        chance = 0.2 / (1.0 + np.exp(-2.0 * window[:, :1]))
        reference[rng.random(reference.shape) < 0.1] = np.nan
        gone = rng.random(window.shape) < chance
        window[gone & (np.arange(8) > 0)] = np.nan
        result = gd.DriftDetector(random_state=seed).fit(reference).test(window)
        found.append(next(part.p_value for part in result.missingness.parts if part.name == "conditions"))
    assert (np.array(found) < 0.05).sum() >= 16


def test_one_column_that_selects_cells_stands_out_among_others_that_follow_it():
    """Columns that follow each other closely all move with the one that selects cells of all of them."""
    rng = np.random.default_rng(0)

    def draw(n_rows, slope):
        rows = np.sqrt(0.9) * rng.normal(size=(n_rows, 1)) + np.sqrt(0.1) * rng.normal(size=(n_rows, 25))
        gone = rng.random(rows.shape) < ndtr(-0.6 + slope * rows[:, :1])
        gone[:, 0] = False
        return np.where(gone, np.nan, rows)

    detector = gd.DriftDetector(random_state=0).fit(draw(2_000, 0.0))
    changed, calm = (detector.reference_.comparison(detector.count(draw(300, slope))) for slope in (0.3, 0.0))
    assert changed.observed.mechanism.together < 1e-6
    assert changed.observed.mechanism.in_common[1:].min() > 1.0
    assert calm.observed.mechanism.together > 0.001


def two_categories(n_rows, rng, *, selected):
    one, two = rng.integers(2, size=(2, n_rows))
    differ = one ^ two
    number = rng.normal(size=n_rows) * (1 + differ) + 2 * differ
    number[rng.random(n_rows) < (np.where(differ == 1, 0.7, 0.1) if selected else 0.4)] = np.nan
    return {"one": np.array(["n", "y"])[one], "two": np.array(["n", "y"])[two], "number": number}


def product_of_numbers(n_rows, rng, *, selected):
    rows = rng.normal(size=(n_rows, 3))
    product = rows[:, 0] * rows[:, 1]
    rows[:, 2] += product
    rows[rng.random(n_rows) < (1.0 / (1.0 + np.exp(0.5 - 1.5 * product)) if selected else 0.4), 2] = np.nan
    return rows


@pytest.mark.parametrize("draw", [two_categories, product_of_numbers])
def test_cells_that_come_to_be_missing_by_what_two_columns_are_together_are_no_drift_of_values(draw):
    """Neither of the two tells by itself which cells are missing, nor what the column is."""
    calm, found, changed = [], [], []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        detector = gd.DriftDetector(random_state=seed).fit(draw(1_000, rng, selected=False))
        results = [detector.test(draw(1_000, rng, selected=selected)) for selected in (True, False)]
        calm.append(results[0].values.p_value)
        found.append(parts_of(results[0])["conditions"])
        changed.append(parts_of(results[1])["conditions"])
    assert (np.array(calm) < 0.05).sum() <= 3
    assert max(found) < 1e-3
    assert min(changed) > 1e-3


def test_conditions_hold_their_level_where_one_column_selects_the_cells_of_many():
    """2,000 draws of the differences of 100 columns that are missing together: their mean square is skewed."""
    correlation = np.full((100, 100), 0.3) + 0.7 * np.eye(100)
    away = np.abs(np.random.default_rng(0).multivariate_normal(np.zeros(100), correlation, 2_000))
    usable = np.ones((1, 100), dtype=bool)
    p_values = np.array([_in_common(differences[None], usable, correlation)[0] for differences in away])
    # 45 of them where the skewness is that of independent columns.
    assert (p_values < 0.01).sum() <= 35
    assert 70 <= (p_values < 0.05).sum() <= 130


def test_conditions_hold_their_level_where_rare_values_lie_beside_the_observed_cells_of_others():
    """100 null windows: a level of one in fifty rows, most of them where another column is observed."""

    def draw(n_rows, rng):
        rare = rng.random(n_rows) < 0.02
        other = rng.normal(size=n_rows)
        other[rng.random(n_rows) < np.where(rare, 0.2, 0.9)] = np.nan
        return np.column_stack([np.where(rare, 5.0, rng.integers(0, 2, n_rows)), other])

    alarms = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        detector = gd.DriftDetector(random_state=0).fit(draw(3_000, rng))
        p_values = detector.reference_.comparison(detector.count(draw(3_000, rng))).observed.mechanism.p_values
        alarms += p_values.min() < 0.05
    assert alarms <= 13


def test_cells_that_hardly_miss_beside_a_rare_category_are_seen_where_missing_rates_fall():
    """Flags of one category, missing beside a rare one as seldom as before, all others less often: no drift of values.

    23 missing cells of a window tell nothing of 40 rows, but that they are next to none. Without that 16 of 20 alarmed.
    """
    found = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        sides = []
        for n_rows, rates in ((2_500, (0.55, 0.08)), (450, (0.055, 0.008))):
            is_rare = rng.random(n_rows) < 0.09
            flags = (rng.integers(0, 3, n_rows)[:, None] == np.arange(3)).astype(float)
            flags[rng.random(flags.shape) < np.where(is_rare, rates[1], rates[0])[:, None]] = np.nan
            sides.append({**{f"is {k}": flags[:, k] for k in range(3)}, "plan": np.where(is_rare, "rare", "usual")})
        found.append(parts_of(gd.DriftDetector(random_state=seed).fit(sides[0]).test(sides[1])))
    assert sum(parts["interactions"] < 0.05 for parts in found) <= 3
    assert max(parts["conditions"] for parts in found) < 1e-3
