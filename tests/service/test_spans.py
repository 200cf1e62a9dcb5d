"""Evidence of any span is the sum of its panes."""

import numpy as np
import pytest

pytest.importorskip("fastapi")

from gapdrift.counting.evidence import Evidence
from gapdrift.service import spans
from gapdrift.service.monitors import parse_moment
from gapdrift.service.spans import add_pane, read_span

LIKE = Evidence(1, {"a": np.zeros(2), "b": np.zeros((2, 2))}, "origin")


def evidence(number):
    return Evidence(number % 7 + 1, {"a": [number, 1.0], "b": np.full((2, 2), number)}, "origin")


@pytest.fixture
def connection(full_house):
    with full_house.service.database.write() as connection:
        yield connection


@pytest.mark.parametrize("first", [0, -37, 2_000_000])
def test_sums_of_spans(connection, first):
    numbers = [first + number for number in range(432) if number % 11 and not 150 < number < 230]
    for number in numbers:
        add_pane(connection, 1, number, evidence(number))
        add_pane(connection, 1, number, evidence(number))
    rng = np.random.default_rng(0)
    for start, stop in [(0, 432), (0, 0), (5, 6), *np.sort(rng.integers(0, 432, (20, 2))).tolist()]:
        found = read_span(connection, 1, LIKE, first + start, first + stop)
        inside = [evidence(number) for number in numbers if first + start <= number < first + stop]
        total = sum(inside, LIKE.zero())
        assert found.evidence.n_rows == total.n_rows
        assert np.array_equal(found.evidence.sums["b"], total.sums["b"])
        assert (found.first_pane is None) == (not inside)


def test_forgotten_panes_move_the_ends_inwards(connection, monkeypatch):
    monkeypatch.setattr(spans, "KEPT_BLOCKS", 20)
    for number in range(200):
        add_pane(connection, 1, number, evidence(number))
    found = read_span(connection, 1, LIKE, 5, 200)
    assert (found.first_pane, found.end_pane) == (10, 200)
    assert found.evidence.sums["a"][1] == 190
    kept = connection.exec_driver_sql(
        "SELECT count(*) FROM service_evidence WHERE monitor_id = 1 AND origin = 'origin'"
    )
    assert kept.scalar() < 80


@pytest.mark.parametrize("text", ["soon", "1e5", "-3", "99999-01-01"])
def test_moments_that_are_none(text):
    with pytest.raises(ValueError, match="no number of a window and no time"):
        parse_moment(text)
