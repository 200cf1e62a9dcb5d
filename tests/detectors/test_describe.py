import numpy as np

from gapdrift.detectors.drift.describe import make_histogram
from gapdrift.tables.histograms import HistogramAxis


def test_shares_are_those_of_the_observed_cells():
    edges = tuple(map(float, range(21)))
    limits = tuple(np.sort([*edges[1:-1], 0.5]).tolist())
    reference, window = np.zeros(21), np.zeros(21)
    reference[[0, 1, 2]], window[2] = [20.0, 10.0, 10.0], 5.0
    histogram = make_histogram(HistogramAxis(edges, limits, ()), reference, window)
    assert histogram.reference == (0.75, 0.25, *[0.0] * 18)
    assert histogram.window == (0.0, 1.0, *[0.0] * 18)
    assert histogram.edges == edges


def test_a_column_without_values_has_no_histogram():
    assert make_histogram(HistogramAxis((), (), ()), np.zeros(0), np.zeros(0)) is None


def test_a_window_without_rows_has_shares_of_zero():
    histogram = make_histogram(HistogramAxis((), (), ("red", "(other)")), np.array([3.0, 0.0]), np.zeros(2))
    assert histogram.window == (0.0, 0.0)
