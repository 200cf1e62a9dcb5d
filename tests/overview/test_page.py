import re
from html.parser import HTMLParser

import pytest

from gapdrift.history import History
from gapdrift.overview.charts import LEFT, RIGHT, WIDTH, draw_heat, draw_ridges, draw_sparkline, draw_track
from gapdrift.overview.page import render_history
from gapdrift.overview.points import ColumnPoint, Timeline, WindowPoint
from gapdrift.overview.reading import choose_reports, read_records
from gapdrift.overview.words import describe_state, list_windows, summarise
from gapdrift.results.result import Histogram


def timeline(zones, columns=2, **facts):
    points = []
    for index, zone in enumerate(zones):
        p_value = {"drift": 1e-12, "warning": 0.005}.get(zone, 0.4)
        tested = {} if zone == "undetermined" else {"values_p": p_value, "values_effect": 0.2, "missing_p": 0.6}
        cells = tuple(ColumnPoint(f"c{n}", 0.1 * n, p_value, 0.2, 0.1, 0.5) for n in range(columns))
        points.append(WindowPoint(index, zone, p_value, 100, columns=cells if tested else (), **tested, **facts))
    return Timeline("sales", tuple(points), 0.001, 0.01, len(points))


class Ids(HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids, self.targets = [], []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids += [given["id"]] if "id" in given else []
        self.targets += [given["href"][1:]] if given.get("href", "").startswith("#") else []


def test_the_page_of_a_history_is_whole(history_file):
    with History(history_file, create=False) as history:
        read = [read_records(history, stream, 500) for stream in history.streams()]
    reports = {key: result for _, records in read for key, result in choose_reports(records).items()}
    page = render_history([line for line, _ in read], reports, "alarms.db")
    found = Ids()
    found.feed(page)
    assert len(set(found.ids)) == len(found.ids)
    assert set(found.targets) <= set(found.ids)
    assert len(re.findall(r'<section class="report"', page)) == 11
    assert "sales <b>" not in page
    assert page.count("<h1") == 1
    assert "http:" not in page.replace("http://www.w3.org", "")


def test_zones_are_drawn_by_the_side_that_led_to_them():
    line = timeline(["calm", "drift", "warning", "undetermined", "calm"])
    values, missing = draw_track(line, "values", lambda _: ""), draw_track(line, "missing", lambda _: "")
    assert values.count('class="zone drift"') == values.count('class="zone warning"') == 1
    assert 'class="zone drift"' not in missing
    # The line is broken where a window has no test.
    assert re.search(r'<path d="M[^M]*" class="track-line"/>', values)
    assert values.count("<title>Window") == 5


def test_links_lead_to_the_windows():
    chart = draw_track(timeline(["calm", "drift"]), "values", lambda window: f"/w?a=1&i={window.index}")
    assert re.findall(r'href="([^"]*)"', chart) == ["/w?a=1&amp;i=0", "/w?a=1&amp;i=1"]


def test_many_columns_and_windows_stay_small():
    line = timeline(["calm"] * 2_000, columns=90)
    chart = draw_heat(line, "values")
    # Once in the picture, once for small screens.
    assert chart.count('class="category"') == 2 * 40
    assert ">c89<" in chart
    assert ">c3<" not in chart
    assert len(chart) < 700_000
    assert chart.count('class="hit"') <= 240


def test_a_dot_marks_what_changed():
    assert draw_heat(timeline(["drift"]), "values").count("<circle") == 2
    assert draw_heat(timeline(["drift"]), "missing").count("<circle") == 0


def test_a_sparkline_has_a_bar_for_each_window():
    assert draw_sparkline(timeline(["calm", "drift"]).points, 0.001).count("<rect") == 2
    assert "<svg" in draw_sparkline((), 0.001)


@pytest.mark.parametrize(
    ("zones", "state", "words"),
    [
        ([], "undetermined", "No window has been decided yet."),
        (["undetermined"], "undetermined", "No window could be judged yet."),
        (["calm", "calm"], "calm", "Calm for the last 2 windows."),
        (["drift", "calm"], "calm", "Calm for the last 1 window, since window 1."),
        (["calm", "warning"], "warning", "Warning in window 1, the latest."),
        (["calm", "drift", "drift", "undetermined"], "drift", "Drift in the last 2 windows, since window 1."),
    ],
)
def test_the_state_in_words(zones, state, words):
    assert describe_state(timeline(zones)) == (state, words)


def test_the_table_names_what_changed():
    line = timeline(["calm", "drift"], columns=5, start="2026-01-02T03:04:05+00:00")
    head, calm, drift = list_windows(line)
    assert head[1] == "from"
    assert calm[1] == "2026-01-02 03:04"
    assert drift[-1] == "c4, c3, c2 and 2 more"
    assert summarise(line) == "sales: 2 windows (1 calm, 1 drift)."


def histogram(labels, edges, shares):
    return Histogram(labels, edges, shares, shares, 100, 100)


def test_distributions_share_one_axis():
    wide = histogram((), (-10.0, 0.0, 10.0), (0.5, 0.5))
    narrow = histogram((), (0.0, 5.0, 10.0), (0.5, 0.5))
    chart = draw_ridges([("one", wide), ("two", narrow)], "x")
    starts = re.findall(r'<path d="M([\d.]+) [\d.]+V([\d.]+)', chart)
    half = LEFT + (WIDTH - LEFT - RIGHT) / 2.0
    assert [float(x) for x, _ in starts] == [LEFT, LEFT, half, half]
    # The same share on half the width is twice as high.
    heights = [52.0 - float(starts[0][1]), 86.0 - float(starts[2][1])]
    assert heights[1] == pytest.approx(2.0 * heights[0], abs=0.2)
    names = draw_ridges(
        [("one", histogram(("a", "b"), (), (0.5, 0.5))), ("two", histogram(("b", "c"), (), (1.0, 0.0)))], "c"
    )
    assert all(f">{name}</text>" in names for name in "abc")
