"""What the tests of all engines share."""

import pandas as pd
import pytest

import gapdrift as gd


@pytest.fixture(scope="module")
def window():
    return pd.DataFrame(gd.datasets.stations(5_000, rng=2))


@pytest.fixture(scope="module")
def detector():
    return gd.DriftDetector(random_state=0).fit(gd.datasets.stations(1_000, rng=0))
