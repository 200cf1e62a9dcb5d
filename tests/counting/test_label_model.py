import numpy as np

from gapdrift.counting.label_model import ridge_regression


def test_ridge_regression_finds_the_slopes():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=(2_000, 2)), np.ones(2_000)])
    intercepts, slopes = ridge_regression(x, (3.0 + x @ [2.0, 0.0, 5.0] + 0.1 * rng.normal(size=2_000))[:, None])
    np.testing.assert_allclose(slopes[:, 0], [2.0, 0.0, 0.0], atol=0.01)
    np.testing.assert_allclose(intercepts, 8.0, atol=0.01)
