import numpy as np
import pytest
from scipy import stats

from gapdrift.inference.batch_models import Block
from gapdrift.inference.batches import BatchTable, batches_needed, fit_variation, judge_window


def table_of(blocks, n_rows=None, calendar=None):
    n_batches = len(next(iter(blocks.values())))
    rows = np.full(n_batches, 100.0) if n_rows is None else np.asarray(n_rows, dtype=float)
    terms = np.zeros((n_batches, 0)) if calendar is None else calendar
    return BatchTable(rows, terms, blocks, tuple(map(str, range(n_batches))))


BLOCKS = (Block("a", 1.0, 1.0, 0.5, unseen=0.0), Block("b", 0.25, 0.5, 0.5, of_values=False))


def p_value(rng, n_batches, shift=0.0, size=5):
    a = rng.normal(size=(n_batches + 1, size))
    b = rng.normal(size=(n_batches + 1, 2))
    a[-1, 0] += shift
    variation = fit_variation(table_of({"a": a[:-1], "b": b[:-1]}), BLOCKS)
    return judge_window(variation, table_of({"a": a[-1:], "b": b[-1:]}))


@pytest.mark.parametrize("n_batches", [10, 25])
def test_windows_like_the_batches_alarm_as_often_as_asked(n_batches):
    rng = np.random.default_rng(n_batches)
    found = np.array([p_value(rng, n_batches).p_value for _ in range(80)])
    low, high = stats.binom.ppf([0.0005, 0.9995], 80, 0.05)
    assert low <= (found < 0.05).sum() <= high
    assert 0.35 < np.mean(found < 0.5) < 0.65


def test_a_window_far_off_is_found():
    rng = np.random.default_rng(0)
    judgement = p_value(rng, 30, shift=12.0)
    assert judgement.p_value < 0.01
    assert judgement.values < 0.01 < judgement.missingness
    assert int(np.abs(judgement.residuals["a"]).argmax()) == 0


def test_statistics_that_never_vary_say_nothing():
    blocks = {"a": np.zeros((8, 3)), "b": np.zeros((8, 2))}
    judgement = judge_window(fit_variation(table_of(blocks), BLOCKS), table_of({k: v[:1] for k, v in blocks.items()}))
    assert judgement.p_value == pytest.approx(1.0)


def test_batches_without_a_value_say_nothing_of_it():
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
    a[3, 0] = np.inf
    variation = fit_variation(table_of({"a": a, "b": b}), BLOCKS)
    window = table_of({"a": np.array([[np.inf, 0.0]]), "b": np.zeros((1, 2))})
    judgement = judge_window(variation, window)
    assert judgement.residuals["a"][0] == 0.0
    assert judgement.p_value > 0.05


def test_shorter_windows_may_differ_more_as_far_as_rows_explain_it():
    rng = np.random.default_rng(3)
    # Independent rows: all variance between batches is that of their rows, 100 in each.
    rows_only = table_of({"a": 0.1 * rng.normal(size=(60, 4))})
    common = table_of({"a": 2.0 * rng.normal(size=(60, 4))})
    short = table_of({"a": np.full((1, 4), 1.0)}, n_rows=[25])
    long = table_of({"a": np.full((1, 4), 1.0)}, n_rows=[100])
    for table, factor in ((rows_only, 2.0), (common, 1.0)):
        variation = fit_variation(table, BLOCKS[:1])
        ratio = judge_window(variation, long).residuals["a"] / judge_window(variation, short).residuals["a"]
        assert ratio == pytest.approx(factor, rel=0.15)


def test_dependent_panes_shrink_with_the_length_of_a_window():
    rng = np.random.default_rng(4)
    table = table_of({"a": rng.normal(size=(64, 1))})
    variation = fit_variation(table, BLOCKS[:1], as_panes=True)
    four = table_of({"a": np.ones((1, 1))}, n_rows=[400])
    one = table_of({"a": np.ones((1, 1))}, n_rows=[100])
    ratio = judge_window(variation, four).residuals["a"] / judge_window(variation, one).residuals["a"]
    # Twice as much for four times the rows, less what the mean of the panes and their correlation add.
    assert 1.4 < ratio[0] <= 2.0


def test_seasons_are_taken_off():
    rng = np.random.default_rng(5)
    angle = rng.random(60) * 2 * np.pi
    terms = np.column_stack([np.cos(angle), np.sin(angle)])
    season = (5.0 * terms[:, :1]) @ np.ones((1, 3))
    table = table_of({"a": season + 0.3 * rng.normal(size=(60, 3))}, calendar=terms)
    variation = fit_variation(table, BLOCKS[:1])
    summer = table_of({"a": np.full((1, 3), 5.0)}, calendar=np.array([[1.0, 0.0]]))
    winter = table_of({"a": np.full((1, 3), 5.0)}, calendar=np.array([[-1.0, 0.0]]))
    assert judge_window(variation, summer).p_value > 0.05
    assert judge_window(variation, winter).p_value < 0.01


def test_many_batches_are_left_out_in_folds():
    rng = np.random.default_rng(6)
    variation = fit_variation(table_of({"a": rng.normal(size=(600, 3))}), (Block("a", 1.0, together=1.0),))
    found = variation.blocks[0].p_values
    assert found.shape == (600,)
    assert 0.45 < np.mean(found < 0.5) < 0.55


def test_batches_that_follow_each_other_are_scored_without_their_neighbours():
    rng = np.random.default_rng(8)
    walk = np.cumsum(rng.normal(size=(41, 4)), axis=0)
    shuffled = rng.permutation(walk[:-1])
    window = table_of({"a": walk[-1:]})
    in_order = judge_window(fit_variation(table_of({"a": walk[:-1]}), BLOCKS[:1]), window)
    at_random = judge_window(fit_variation(table_of({"a": shuffled}), BLOCKS[:1]), window)
    assert in_order.p_value > at_random.p_value


def test_a_statistic_that_few_batches_have_is_not_compared():
    rng = np.random.default_rng(9)
    a = rng.normal(size=(20, 3))
    a[3:, 0] = np.inf
    variation = fit_variation(table_of({"a": a}), BLOCKS[:1])
    judgement = judge_window(variation, table_of({"a": np.array([[50.0, 0.0, 0.0]])}))
    assert judgement.residuals["a"][0] == 0.0
    assert judgement.p_value > 0.05


def test_what_one_statistic_has_beyond_the_others_is_found():
    rng = np.random.default_rng(10)
    common = rng.normal(size=(41, 1))
    a = common + 0.1 * rng.normal(size=(41, 4))
    a[-1] = [1.2, 0.0, 0.0, 0.0]
    turned = Block("a", 1e-3, 0.5, 1.0, turn=np.eye(4))
    judgement = judge_window(fit_variation(table_of({"a": a[:-1]}), (turned,)), table_of({"a": a[-1:]}))
    plain = judge_window(fit_variation(table_of({"a": a[:-1]}), (Block("a", 1e-3, 0.0, 1.0),)), table_of({"a": a[-1:]}))
    assert int(judgement.single["a"].argmin()) == 0
    assert judgement.p_value < 0.01 < plain.p_value


def test_only_rises_count_where_it_is_said():
    rng = np.random.default_rng(11)
    block = Block("a", 1.0, 0.0, 1.0, rises=True)
    variation = fit_variation(table_of({"a": rng.normal(size=(30, 2))}), (block,))
    risen, fallen = (judge_window(variation, table_of({"a": np.full((1, 2), away)})) for away in (8.0, -8.0))
    assert risen.p_value < 0.01
    assert fallen.p_value > 0.5


def test_more_statistics_than_batches():
    rng = np.random.default_rng(7)
    a = rng.normal(size=(12, 80))
    variation = fit_variation(table_of({"a": a[:-1]}), BLOCKS[:1])
    assert 0 < judge_window(variation, table_of({"a": a[-1:]})).p_value <= 1


def test_how_many_batches_are_needed():
    assert [batches_needed(alpha) for alpha in (0.1, 0.05, 0.01)] == [9, 19, 99]


def test_a_gross_entry_never_hides():
    rng = np.random.default_rng(12)
    a = rng.normal(size=(21, 3))
    a[4, 1] = 1e3  # one odd batch, of another statistic
    a[-1] = [100.0, 0.0, 0.0]
    block = Block("a", 1.0, 1.0, 1.0, unseen=1.0)
    judgement = judge_window(fit_variation(table_of({"a": a[:-1]}), (block,)), table_of({"a": a[-1:]}))
    assert judgement.p_value < 1e-6
    assert int(judgement.entries["a"].argmin()) == 0


def test_the_fewer_batches_the_less_is_known_of_odd_ones():
    block = (Block("a", 1e-6, unseen=0.5),)
    window = table_of({"a": np.array([[1.0]])})
    few, many = (judge_window(fit_variation(table_of({"a": np.zeros((n, 1))}), block), window) for n in (10, 90))
    assert many.residuals["a"][0] == pytest.approx(few.residuals["a"][0] * 3.0, rel=0.1)
    assert many.p_value < few.p_value
