import os
from pathlib import Path

import numpy as np
import pytest

import gapdrift as gd
from experiments.distributions import DRIFTS


@pytest.fixture
def rng():
    return np.random.default_rng(20)


@pytest.fixture(scope="session")
def gaussian_drift():
    return DRIFTS["gaussian-mean"]


@pytest.fixture(scope="session")
def fitted(gaussian_drift):
    """Default detector on 500 rows with 20 % of the cells missing."""
    return gd.MDLFWF(random_state=0).fit(gaussian_drift.sample(500, severity=0, missing=0.2, rng=1))


@pytest.fixture
def real_data():
    """Folder with the real data sets; the test is skipped where there is none."""
    folder = Path(os.environ.get("GAPDRIFT_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("no real data: set GAPDRIFT_DATA")
    return folder
