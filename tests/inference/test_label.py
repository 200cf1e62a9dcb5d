import numpy as np
import pytest
from scipy.stats import binom

from gapdrift.inference.label import SHARES, combine_findings, label_finding, values_with_label
from gapdrift.results import Finding
from gapdrift.tables.histograms import HistogramAxis

COLOURS = HistogramAxis((), (), ("red", "blue", "(other)"))


def test_labels():
    found = label_finding(COLOURS, np.array([50.0, 50.0, 0.0]), np.array([20.0, 80.0, 0.0]))
    assert found.p_value < 1e-3
    assert found.effect_size == pytest.approx(0.3)
    assert "0 row(s) of the window and 100" in label_finding(COLOURS, np.array([50.0, 50, 0]), np.zeros(3)).reason


def finding(name, p_value, reason=""):
    return Finding(name, None, None, p_value, None if reason else 0.2, reason=reason)


def test_values_say_which_of_both_moved():
    found = values_with_label(finding("covariates", 0.001), finding("label", 0.5))
    assert [part.name for part in found.parts] == ["covariates", "label"]
    assert found.p_value == pytest.approx(1 - 0.999 ** (1 / 0.8))
    alone = values_with_label(finding("covariates", 0.02), finding("label", 1.0, "no labels"))
    assert alone.p_value == pytest.approx(0.02)
    assert values_with_label(finding("covariates", 1.0, "too few"), finding("label", 0.5)).reason == "too few"


def test_shares_of_false_alarms(rng):
    """Independent uniform p-values give a uniform one; what was not tested leaves its share to the others."""
    assert sum(SHARES.values()) == pytest.approx(1.0)
    p_values = rng.random((4_000, 3))
    combined = [combine_findings(tuple(map(finding, SHARES, row)), SHARES) for row in p_values]
    alarms = int(np.sum(np.array(combined) < 0.05))
    assert binom.cdf(alarms, 4_000, 0.05) > 1e-4
    assert binom.sf(alarms - 1, 4_000, 0.05) > 1e-4
    late = finding("values", 0.03), finding("concept", 1.0, "no labels"), finding("missingness", 0.9)
    assert combine_findings(late, SHARES) == pytest.approx(1 - 0.97 ** (0.6 / 0.5))
