import numpy as np
import pytest

from gapdrift.counting.profile import _own_mean
from gapdrift.models.gaussian import fit_gaussian, precision_of


def test_the_mean_of_other_rows_is_that_of_their_observed_cells(rng):
    """A column that is constant in them has that mean, whatever the rows had that taught the model."""
    model = fit_gaussian(rng.normal(size=(200, 3)))
    rows = rng.normal([0.0, 0.0, 0.5], 1.0, size=(60, 3))
    rows[:, 1] = -0.4
    rows = np.where(rng.random(rows.shape) < 0.7, np.nan, rows)
    found = _own_mean(precision_of(model), rows, model.mean)
    assert found[1] == pytest.approx(-0.4, abs=0.02)
    # Dependence that the model sees by chance moves the others a little.
    assert found == pytest.approx(np.nanmean(rows, axis=0), abs=0.1)
