import numpy as np
import pandas as pd
import pytest

import gapdrift as gd
from gapdrift.counting import counter
from gapdrift.detectors.drift import reference as drift_reference

N_ROWS = 3_000


@pytest.fixture(autouse=True, scope="module")
def few_are_many():
    """References of which a sample is learned from."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drift_reference, "MAX_LEARNED", 2_500)
        yield


@pytest.fixture(autouse=True)
def nothing_compiled():
    """Begin as a process that has not loaded machine code."""
    counter._compiled.cache_clear()


def correlated(n_rows, n_columns, seed, rate=0.2):
    rng = np.random.default_rng(seed)
    mix = np.random.default_rng(0).normal(size=(n_columns, n_columns)) / np.sqrt(n_columns)
    rows = rng.normal(size=(n_rows, n_columns)) @ mix + 0.5 * rng.normal(size=(n_rows, n_columns))
    rows[rng.random(rows.shape) < rate] = np.nan
    return rows


def mixed(n_rows, seed):
    """Numbers, ties, a heavy tail, categories, a column without values."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=n_rows)
    frame = pd.DataFrame(
        {
            "plain": base + 0.3 * rng.normal(size=n_rows),
            "ties": np.rint(base + rng.normal(size=n_rows)),
            "heavy": np.exp(4.0 * rng.normal(size=n_rows)),
            "level": np.where(base + rng.normal(size=n_rows) > 0, "high", "low"),
            "many": rng.choice([f"level {place}" for place in range(30)], size=n_rows),
            "nothing": np.full(n_rows, np.nan),
        }
    )
    return frame.mask(rng.random(frame.shape) < 0.2)


def narrow(n_rows, seed):
    return correlated(n_rows, 6, seed)


def wide(n_rows, seed):
    return correlated(n_rows, 25, seed)


def many_inputs(n_rows, seed):
    """More columns than a code of 64 bits holds."""
    return correlated(n_rows, 70, seed, rate=0.05)


def factors(n_rows, seed):
    """So many columns, and missing values, that the model has factors."""
    return correlated(n_rows, 90, seed, rate=0.6)


KINDS = {"narrow": narrow, "wide": wide, "mixed": mixed, "many inputs": many_inputs, "factors": factors}


@pytest.fixture(scope="module")
def fitted(few_are_many):
    """Detector of each kind of table, fitted once."""
    return {
        name: gd.DriftDetector(random_state=0).fit(make(N_ROWS if name != "factors" else 600, 1))
        for name, make in KINDS.items()
    }


@pytest.fixture
def detector(fitted):
    return fitted["narrow"]


@pytest.fixture
def mixed_detector(fitted):
    return fitted["mixed"]
