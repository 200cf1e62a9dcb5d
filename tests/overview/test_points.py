import pytest

import gapdrift as gd
from gapdrift.history import History
from gapdrift.overview.charts import draw_track
from gapdrift.overview.points import ColumnPoint, Timeline, WindowPoint, group_points, point_of
from gapdrift.overview.reading import choose_reports, read_records, timeline_of
from gapdrift.overview.words import list_windows
from gapdrift.sinks import make_record
from tests.stream_rows import rows


def window(index, zone="calm", **facts):
    return WindowPoint(index, zone, facts.pop("p_value", 0.5), 10, **facts)


def column(name, effect, p_value, missing, missing_p):
    return ColumnPoint(name, effect, p_value, missing, 0.1, missing_p)


def test_joined_windows_keep_the_most_alarming_facts():
    one = window(0, values_p=0.4, values_effect=0.1, missing_p=None, columns=(column("a", 0.1, 0.9, 0.12, None),))
    two = window(
        1, "warning", values_p=0.004, values_effect=0.3, missing_p=0.7, columns=(column("a", 0.3, 0.01, 0.0, 0.2),)
    )
    three = window(2, "undetermined", p_value=1.0)
    (joined,) = group_points([one, two, three], 1)
    assert (joined.zone, joined.n_windows, joined.n_rows, joined.place) == ("warning", 3, 30, "0 to 2")
    assert (joined.values_p, joined.values_effect, joined.missing_p) == (0.004, 0.3, 0.7)
    assert joined.columns == (column("a", 0.3, 0.01, 0.0, 0.2),)


@pytest.mark.parametrize("count", [0, 1, 239, 240, 241, 1_000])
def test_groups_hold_every_window_once(count):
    groups = group_points([window(place) for place in range(count)], 240)
    assert len(groups) <= 240
    assert sum(group.n_windows for group in groups) == count


def test_changed_columns_are_sorted_by_their_change():
    facts = (column("a", 0.2, 1e-5, 0.1, None), column("b", 0.1, 0.5, 0.9, 1e-5), column("c", 0.9, 0.5, 0.1, 0.5))
    assert window(0, columns=facts).changed(0.001) == ["b", "a"]


def test_a_record_becomes_a_point(history_file):
    with History(history_file, create=False) as history:
        timeline, records = read_records(history, "sales <b>", 500)
    last, result = timeline.points[-1], records[-1]["result"]
    assert (last.index, last.zone, timeline.n_windows) == (8, "drift", 9)
    assert last.values_p == result["values"]["p_value"]
    assert last.missing_effect == result["missingness"]["effect_size"]
    assert [c.name for c in last.columns] == timeline.columns == ["x", "y", "c"]
    assert (timeline.alarm_at, timeline.warning_at) == (0.001, 0.01)


def test_windows_without_rows_have_no_test(history_file):
    with History(history_file, create=False) as history:
        timeline, records = read_records(history, "by time", 500)
    empty = timeline.points[1]
    assert (empty.zone, empty.n_windows, empty.values_p, empty.columns) == ("undetermined", 2, None, ())
    assert {index for _, index in choose_reports(records)} == {0, 3}


def test_alarms_come_first_among_the_reports(history_file):
    with History(history_file, create=False) as history:
        _, records = read_records(history, "sales <b>", 500)
    # The fifth window is a warning, which comes before later ones that are calm.
    assert [index for _, index in choose_reports(records, 4)] == [8, 7, 4, 6]


def test_a_damaged_record_is_named():
    settings = {"false_alarm_every": 1000, "warning_every": 100}
    with pytest.raises(Exception, match="window of the stream 'a' cannot be read"):
        timeline_of("a", [{"index": 3}], settings, 1)


def test_a_label_has_a_track_of_its_own():
    fitted = gd.DriftDetector(random_state=0, target="y").fit(rows(400, 0))
    decided = gd.Monitor(fitted, 200).advance(rows(400, 1))
    points = tuple(point_of(make_record(window, "orders")) for window in decided)
    assert [point.concept_p for point in points] == [window.result.concept.p_value for window in decided]
    assert points[0].concept_effect == decided[0].result.concept.effect_size
    line = Timeline("orders", points, 0.001, 0.01, 2)
    assert list(line.sides) == ["values", "missing", "concept"]
    assert list_windows(line)[0].count("effect") == 3
    assert "Label, given the other columns: p-value" in draw_track(line, "concept", lambda _: "")
    (joined,) = group_points(points, 1)
    assert joined.concept_p == min(point.concept_p for point in points)
    without = Timeline("orders", (window(0, values_p=0.3),), 0.001, 0.01, 1)
    assert list(without.sides) == ["values", "missing"]
