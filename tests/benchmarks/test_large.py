import numpy as np
from benchmarks.large import continuity_bar, found_bar


def test_steps_that_are_alike_reach_the_bar():
    rng = np.random.default_rng(0)
    p_values = rng.random((60, 1)) + np.cumsum(rng.normal(0.0, 0.01, (60, 3)), axis=1)
    bar = continuity_bar("values", p_values)
    assert bar.reached
    assert 1.0 < bar.bound < 2.0


def test_a_jump_with_the_last_row_misses_the_bar():
    rng = np.random.default_rng(1)
    p_values = rng.random((60, 1)) + np.cumsum(rng.normal(0.0, [0.01, 0.01, 0.03], (60, 3)), axis=1)
    assert not continuity_bar("values", p_values).reached


def test_p_values_that_do_not_move_reach_the_bar():
    p_values = np.repeat(np.random.default_rng(2).random((60, 1)), 3, axis=1)
    bar = continuity_bar("values", p_values)
    assert bar.reached
    assert bar.figure == 1.0


def test_drifts_lost_with_one_more_row_miss_the_bar():
    found = np.ones((60, 3), dtype=bool)
    assert found_bar("mean", found).reached
    found[:20, 2] = False
    assert not found_bar("mean", found).reached
