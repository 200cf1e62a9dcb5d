import numpy as np

from gapdrift.detectors.drift.describe import make_histogram
from gapdrift.tables.histograms import HistogramAxis


def test_shares_are_those_of_the_observed_cells():
    histogram = make_histogram(HistogramAxis((0.0, 1.0, 2.0), ()), np.array([30.0, 10.0]), np.array([0.0, 5.0]))
    assert histogram.reference == (0.75, 0.25)
    assert histogram.window == (0.0, 1.0)
    assert histogram.edges == (0.0, 1.0, 2.0)


def test_a_column_without_values_has_no_histogram():
    assert make_histogram(HistogramAxis((), ()), np.zeros(0), np.zeros(0)) is None


def test_a_window_without_rows_has_shares_of_zero():
    histogram = make_histogram(HistogramAxis((), ("red", "(other)")), np.array([3.0, 0.0]), np.zeros(2))
    assert histogram.window == (0.0, 0.0)
