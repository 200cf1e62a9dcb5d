import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.impute import SimpleImputer

from experiments.networks import GAIN, MIDAS
from experiments.networks._dense import torch_on_one_thread
from gapdrift.errors import GapdriftError, InputError, NotFittedError, ParameterError

QUICK = {
    "GAIN": GAIN(iterations=60, batch_size=32, random_state=0),
    "MIDAS": MIDAS(epochs=10, random_state=0),
}


@pytest.fixture(params=QUICK.values(), ids=QUICK)
def quick(request):
    pytest.importorskip("torch")
    return clone(request.param)


def with_gaps(rows, rng, rate=0.2):
    gaps = rows.copy()
    gaps[rng.random(rows.shape) < rate] = np.nan
    return gaps


def correlated(rng, n_rows=500, n_columns=6, correlation=0.8):
    covariance = np.full((n_columns, n_columns), correlation) + np.eye(n_columns) * (1 - correlation)
    return rng.multivariate_normal(np.arange(n_columns) * 10.0, covariance, n_rows)


@pytest.mark.parametrize(
    "imputer", [GAIN(iterations=1500, random_state=0), MIDAS(epochs=100, random_state=0)], ids=["GAIN", "MIDAS"]
)
def test_beats_the_mean_where_columns_hang_together(imputer, rng):
    """On rows it was not trained on; given the others, a column has half the deviation it has alone."""
    pytest.importorskip("torch")
    train = with_gaps(correlated(rng), rng)
    rows = correlated(rng)
    gaps = with_gaps(rows, rng)
    hidden = np.isnan(gaps)

    def error(method):
        return np.sqrt(np.mean((method.fit(train).transform(gaps) - rows)[hidden] ** 2))

    assert error(imputer) < 0.8 * error(SimpleImputer())


def test_known_cells_stay_and_gaps_are_filled(quick, rng):
    gaps = with_gaps(correlated(rng, 60), rng)
    filled = quick.fit(gaps).transform(gaps)
    known = ~np.isnan(gaps)
    np.testing.assert_array_equal(filled[known], gaps[known])
    assert np.isfinite(filled).all()


def test_a_row_is_imputed_alone_as_in_a_crowd(quick, rng):
    gaps = with_gaps(correlated(rng, 60), rng)
    quick.fit(gaps)
    alone = np.vstack([quick.transform(gaps[[row]]) for row in range(len(gaps))])
    np.testing.assert_allclose(quick.transform(gaps), alone, rtol=1e-12)


def test_same_seed_same_bits_and_no_trace_in_the_global_generator(quick, rng):
    import torch

    gaps = with_gaps(correlated(rng, 60), rng)
    torch.manual_seed(1)
    one = quick.fit(gaps).transform(gaps)
    drawn = torch.rand(1)
    torch.manual_seed(1)
    assert torch.rand(1) == drawn
    torch.manual_seed(2)
    np.testing.assert_array_equal(clone(quick).fit(gaps).transform(gaps), one)
    assert not np.array_equal(clone(quick).set_params(random_state=1).fit(gaps).transform(gaps), one)


def test_hard_tables(quick, rng):
    rows = np.c_[correlated(rng, 40, 3), np.full(40, 7.0), rng.normal(size=40)]
    gaps = rows.copy()
    gaps[np.arange(40), np.arange(40) % 4] = np.nan  # no complete row, the last column has no gap
    gaps[0] = np.nan
    filled = quick.fit(gaps).transform(gaps)
    assert np.isfinite(filled).all()
    np.testing.assert_array_equal(filled[:, 3], 7.0)
    assert quick.transform(gaps[:0]).shape == (0, 5)
    beyond = quick.transform(np.where(np.isnan(gaps), np.nan, gaps * 1e3))
    assert np.isfinite(beyond).all()
    one = quick.fit(gaps[1:, :1]).transform(gaps[:, :1])
    assert np.isfinite(one).all()


def test_tables_without_gaps_train_too(quick, rng):
    rows = correlated(rng, 40, 3)
    assert np.isfinite(quick.fit(rows).transform(with_gaps(rows, rng))).all()


def test_refit_is_a_fresh_fit(quick, rng):
    first, second = with_gaps(correlated(rng, 40), rng), with_gaps(correlated(rng, 50, 4), rng)
    again = quick.fit(first).fit(second).transform(second)
    np.testing.assert_array_equal(again, clone(quick).fit(second).transform(second))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.array([[np.nan, 1.0], [np.nan, 2.0]]), r"Columns \[0\]"),
        (np.array([[np.inf, 1.0]]), "finite"),
        ([["a"]], "not numbers"),
        (np.zeros(3), "shape"),
        (np.zeros((0, 2)), "no value"),
    ],
)
def test_bad_rows_are_told(quick, rows, message):
    with pytest.raises(InputError, match=message):
        quick.fit(rows)


def test_other_columns_are_told(quick):
    with pytest.raises(NotFittedError):
        quick.transform(np.zeros((3, 2)))
    with pytest.raises(InputError, match="trained on 2"):
        quick.fit(np.arange(12.0).reshape(6, 2)).transform(np.zeros((3, 3)))


@pytest.mark.parametrize(
    "imputer",
    [GAIN(iterations=0), GAIN(hint_rate=1.5), GAIN(hidden=0), MIDAS(epochs=0), MIDAS(corruption=1.0)],
    ids=str,
)
def test_bad_settings_are_told(imputer):
    with pytest.raises(ParameterError):
        imputer.fit(np.arange(12.0).reshape(6, 2))


def test_number_of_threads_is_given_back():
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    with torch_on_one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


def test_absent_pytorch_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(GapdriftError, match="extra 'experiments'"):
        MIDAS(epochs=1).fit(np.arange(12.0).reshape(6, 2))


def test_import_brings_no_pytorch():
    code = "import experiments.networks, sys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"
