from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

from gapdrift.errors import InputError
from gapdrift.files import sample_rows


def cut(n_rows, sizes):
    table = pa.table({"a": np.arange(n_rows)})
    bounds = np.minimum(np.cumsum([0, *sizes]), n_rows)
    return [table.slice(start, stop - start) for start, stop in pairwise(bounds.tolist())]


@pytest.mark.parametrize("most", [1, 7, 50, 99])
def test_the_sample_does_not_depend_on_the_chunks(most):
    samples = [
        sample_rows(cut(100, sizes), most, np.random.default_rng(3))[0]["a"].to_pylist()
        for sizes in ([100], [10] * 10, [1] * 100, [99, 0, 1])
    ]
    assert all(sample == samples[0] for sample in samples)
    assert len(samples[0]) == most
    assert samples[0] == sorted(set(samples[0]))


def test_few_rows_stay_all():
    sample, n_rows = sample_rows(cut(30, [11, 19]), 30, np.random.default_rng(0))
    assert sample["a"].to_pylist() == list(range(30))
    assert n_rows == 30


def test_each_row_is_equally_likely():
    rng = np.random.default_rng(0)
    trials = 2_000
    counts = np.zeros(40)
    for _ in range(trials):
        counts[sample_rows(cut(40, [5, 25, 10]), 10, rng)[0]["a"].to_numpy()] += 1
    low, high = binom.ppf([1e-5, 1 - 1e-5], trials, 0.25)
    assert low <= counts.min()
    assert counts.max() <= high


def test_files_of_different_types_become_one():
    tables = [pa.table({"a": [1, 2], "b": ["x", "y"]}), pa.table({"a": [0.5, None], "b": [1, 2]})]
    sample, _ = sample_rows(tables, 10, np.random.default_rng(0))
    assert sample.to_pydict() == {"a": [1.0, 2.0, 0.5, None], "b": ["x", "y", "1", "2"]}
    odd = [pa.table({"a": [1]}), pa.table({"a": [[1]]})]
    with pytest.raises(InputError, match="in different files, expected one"):
        sample_rows(odd, 10, np.random.default_rng(0))


def test_a_user_with_the_same_seed_does_not_draw_the_same_rows():
    """By the same seed cells were hidden: a sample that followed it would have hidden cells only, or none."""
    hidden = np.random.default_rng(0).random(10_000) < 0.2
    table = pa.table({"a": np.where(hidden, np.nan, 1.0)})
    sample, _ = sample_rows([table], 500, np.random.default_rng(0))
    assert 0.1 < np.isnan(sample["a"].to_numpy()).mean() < 0.3
