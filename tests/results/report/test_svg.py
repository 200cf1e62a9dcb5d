import math

import pytest

from gapdrift.results.report.svg import axis_labels, figure, ticks
from tests.results.report.conftest import Page


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (0.0, 1.0),
        (-3.2, 17.0),
        (1e90, 9e90),
        (-1e-200, 2e-200),
        (2004.0, 2012.0),
        (1.7e12, 1.701e12),
        (1e6, 1e6 + 1e-2),
    ],
)
def test_ticks_are_few_round_and_inside(low, high):
    places = ticks(low, high)
    assert 2 <= len(places) <= 7
    span = high - low
    assert all(low - 1e-6 * span <= place <= high + 1e-6 * span for place in places)
    assert len(set(axis_labels(places))) == len(places)
    assert all(
        math.isclose(float(words.replace(",", "")), place, abs_tol=span / 100)
        for words, place in zip(axis_labels(places), places, strict=True)
    )


@pytest.mark.parametrize(("low", "high"), [(5.0, 5.0), (1e6, 1e6 + 1e-9)])
def test_limits_that_lie_too_close_have_one_tick(low, high):
    assert ticks(low, high) == [low]
    assert axis_labels([low])


def test_titles_are_escaped():
    page = Page(figure((10.0, 10.0), 'a"b<c>', "", detail="<d>"))
    assert page.unclosed == []
    assert page.elements[0]["attributes"]["aria-label"] == 'a"b<c>'
    assert page.all("title")[0]["text"] == 'a"b<c>'
