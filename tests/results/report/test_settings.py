import json

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import gapdrift as gd


def test_a_result_tells_its_settings(results):
    settings = results["small"].settings
    assert settings["detector"] == "DriftDetector"
    assert settings["version"] == gd.__version__
    assert settings["min_effect"] == 2.0
    assert settings["random_state"] == 0
    assert "n_jobs" not in settings
    assert results["mdlfwf"].settings["membership"] == "triangular"


@pytest.mark.parametrize("state", [np.random.default_rng(0), np.int64(3), np.random.RandomState(0), None])
def test_settings_are_plain(rng, state):
    detector = gd.MDLFWF(random_state=state, regressor=LinearRegression(), imputers=("mean",), ignore=["x1"])
    rows = {"x0": rng.normal(size=100), "x1": rng.normal(size=100), "x2": rng.normal(size=100)}
    result = detector.fit(rows).test(rows)
    assert result.settings["regressor"] == "LinearRegression"
    assert result.settings["ignore"] == ("x1",)
    assert json.loads(result.to_json())["settings"] == {
        **result.settings,
        "ignore": ["x1"],
        "imputers": ["mean"],
        "categories": [],
    }


def test_threads_make_no_difference_to_a_result():
    rows = gd.datasets.stations(100, 0)
    one, two = (gd.DriftDetector(random_state=0, n_jobs=n).fit(rows).test(rows) for n in (1, 2))
    assert one == two


def test_results_of_other_settings_differ():
    rows = gd.datasets.stations(100, 0)
    one, two = (gd.DriftDetector(random_state=0, min_effect=effect).fit(rows).test(rows) for effect in (0.0, 0.1))
    assert one != two


def test_every_result_is_json_without_nan(results):
    for result in results.values():
        json.loads(result.to_json(), parse_constant=pytest.fail)
