import base64
import hashlib
import re
from itertools import pairwise

import pytest

import gapdrift as gd
from tests.results.report.conftest import ODD_CATEGORIES, ODD_NAMES, Page, wide_result

KINDS = ("drift", "gaps", "both", "none", "small", "undetermined", "gone", "mdlfwf", "mdlfwf empty", "one column")
KINDS += ("odd", "wide")

every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
def test_the_page_is_well_formed(results, kind):
    page = Page(results[kind].to_html())
    assert page.unclosed == []
    assert page.open == []
    ids = [element["attributes"]["id"] for element in page.elements if "id" in element["attributes"]]
    assert len(ids) == len(set(ids))
    targets = {element["attributes"]["href"] for element in page.all("a")}
    assert {target.removeprefix("#") for target in targets} <= set(ids)
    assert page.all("html")[0]["attributes"]["lang"] == "en"


@every_kind
def test_headings_are_in_order_and_the_verdict_is_the_first(results, kind):
    headings = Page(results[kind].to_html()).all("h1", "h2", "h3", "h4")
    depths = [int(heading["tag"][1]) for heading in headings]
    assert depths[0] == 1
    assert depths.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(depths))
    assert all(heading["text"].strip() for heading in headings)


@every_kind
def test_pictures_have_a_text_and_tables_have_headings(results, kind):
    page = Page(results[kind].to_html())
    assert page.all("th")
    assert page.all("table")
    for picture in page.all("svg"):
        hidden = picture["attributes"].get("aria-hidden") == "true"
        assert hidden or picture["attributes"]["role"] == "img"
        assert hidden or (picture["attributes"]["aria-label"] and picture["children"][0]["tag"] == "title")
    assert all(head["attributes"].get("scope") in {"row", "col"} for head in page.all("th"))
    assert all(table["children"][0]["tag"] == "caption" for table in page.all("table"))
    for row in page.all("tr"):
        if "tbody" in row["in"]:
            assert row["children"][0]["tag"] == "th"


@every_kind
def test_nothing_is_asked_of_the_network(results, kind):
    html = results[kind].to_html()
    page = Page(html)
    assert not re.search(r"(https?:)?//[a-z]", re.sub(r"\s// [A-Z][^\n]*", "", html))
    assert not re.search(r"@import|url\((?!#)|\bfetch\b|XMLHttp|WebSocket|sendBeacon", html)
    for element in page.elements:
        given = element["attributes"]
        assert not {"src", "srcset", "style", "action", "data", "poster", "background"} & set(given)
        assert not [name for name in given if name.startswith("on")]
        assert given.get("href", "#").startswith("#")
    assert {element["tag"] for element in page.elements}.isdisjoint(
        {"link", "img", "iframe", "object", "embed", "base"}
    )


def test_the_policy_names_style_and_script_by_their_hashes(results):
    page = Page(results["drift"].to_html())
    policy = next(meta for meta in page.all("meta") if "http-equiv" in meta["attributes"])["attributes"]["content"]
    assert policy.startswith("default-src 'none';")
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        (element,) = page.all(tag)
        digest = base64.b64encode(hashlib.sha256(element["text"].encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy


def test_names_and_categories_cannot_break_out(results):
    page = results["odd"].to_html(title="<b>title</b>", sources={"<i>": "<u>"}, made="<s>")
    assert not re.search(r"<(script>alert|img|i|u|s|b)\b", page)
    assert page.count("<script") == page.count("</script") == 1
    for raw in (*ODD_NAMES, *ODD_CATEGORIES):
        if "<" in raw or "\x00" in raw or "\N{RIGHT-TO-LEFT OVERRIDE}" in raw:
            assert raw not in page
    page.encode("utf-8")
    assert not set(page) & {"\x00", "\ud800", "\N{RIGHT-TO-LEFT OVERRIDE}"}
    texts = [element["text"] for element in Page(page).all("bdi")]
    assert "<script>alert(1)</script>" in texts
    assert "\N{THERMOMETER} \N{WOMAN}\N{ZERO WIDTH JOINER}\N{MICROSCOPE}" in texts
    assert f"\N{FIRST STRONG ISOLATE}{ODD_NAMES[3]}\N{POP DIRECTIONAL ISOLATE}" in texts


@pytest.mark.parametrize("name", ["column {}", '"' * 400 + "{}", "\N{THERMOMETER}" * 400 + "{}", "_" * 400 + "{}"])
def test_a_thousand_columns_stay_below_a_megabyte(name):
    page = wide_result(1_000, name).to_html()
    assert len(page.encode()) < 1_000_000
    assert "the first 40 columns" in page
    assert len(Page(page).all("figure")) == 8


def test_more_columns_are_cut_and_the_page_says_so():
    page = wide_result(1_500).to_html()
    assert "the first 1,000 of 1,500 columns" in page
    assert len(page.encode()) < 1_000_000


def test_the_same_result_gives_the_same_bytes(tmp_path):
    def make():
        detector = gd.DriftDetector(random_state=0).fit(gd.datasets.stations(300, 0))
        return detector.test(gd.datasets.stations(300, 2, drift=True))

    one, two = make(), make()
    assert one == two
    page = one.to_html(tmp_path / "one.html")
    assert page == two.to_html(tmp_path / "two.html")
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes() == page.encode()


def test_sections_come_in_their_order(results):
    def headings(name):
        return [heading["text"] for heading in Page(results[name].to_html()).all("h2")]

    top = ["Columns", "How columns go together", "Distributions", "Missing values"]
    bottom = ["Checks", "Tests behind the verdict", "Data and settings"]
    assert headings("drift") == [*top, "Where rows lie", *bottom]
    # Where missing rates changed regions of rows are not shown, and what is left out stands first.
    assert headings("both") == ["What was left out or assumed", *top, *bottom]
    assert headings("odd")[:2] == ["What was left out or assumed", "Columns"]


def test_title_sources_and_time_are_shown(results):
    page = results["drift"].to_html(title="June", sources={"reference": "may.csv", "job": "nightly"}, made="2026-06-01")
    for words in ("<title>Drift: June</title>", "may.csv (500 rows compared)", "nightly", "2026-06-01"):
        assert words in page


@pytest.mark.parametrize("options", [{"title": 3}, {"made": 3}, {"sources": "june.csv"}])
def test_options_of_another_type_are_refused(results, options):
    with pytest.raises(gd.errors.ParameterError, match="expected a"):
        results["drift"].to_html(**options)


def test_a_place_that_cannot_be_written_is_named(results, tmp_path):
    with pytest.raises(gd.errors.StorageError, match=r"Cannot write .*nowhere.*folder that exists"):
        results["drift"].to_html(tmp_path / "nowhere" / "report.html")


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["titanic", "air_quality_uci", "weather_aus"])
def test_real_tables_have_a_page_worth_reading(real_data, name):
    import pandas as pd

    frame = pd.read_parquet(real_data / name / f"{name}.parquet").iloc[:4_000]
    half = len(frame) // 2
    result = gd.DriftDetector(random_state=0).fit(frame.iloc[:half]).test(frame.iloc[half:])
    page = Page(result.to_html())
    drawn = [figure for figure in page.all("figure") if "observed cells" in figure["text"]]
    assert len(drawn) == min(8, sum(feature.histogram is not None for feature in result.features))
    assert page.all("h1")[0]["text"]
