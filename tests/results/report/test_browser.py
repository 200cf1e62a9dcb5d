"""The report in a real browser: nothing leaves the page, sorting and themes work, nothing overflows."""

import re
import shutil
from collections import Counter
from io import BytesIO

import numpy as np
import pytest
from matplotlib import image

from gapdrift.results.report.palette import DARK, LIGHT

sync_api = pytest.importorskip("playwright.sync_api")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        )
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser, results, tmp_path):
    """Function that opens the report of a kind; what the browser said or asked for is checked at the end."""
    said, asked, contexts = [], [], []

    def open_(kind, *, width=1_100, scheme="light", **options):
        path = tmp_path / "report.html"
        results[kind].to_html(path)
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        return page

    yield open_
    for context in contexts:
        context.close()
    assert said == []
    assert asked
    assert all(re.fullmatch(r"file://.*/report\.html", url) for url in asked)


def colours_of(page):
    """How often each colour is on the screen."""
    picture = image.imread(BytesIO(page.screenshot()), format="png")[..., :3]
    colours, counts = np.unique((255.0 * picture).round().astype(int).reshape(-1, 3), axis=0, return_counts=True)
    return Counter({tuple(colour): count for colour, count in zip(colours.tolist(), counts.tolist(), strict=True)})


def rgb(colour):
    return tuple(int(colour[place : place + 2], 16) for place in (1, 3, 5))


@pytest.mark.parametrize("kind", ["drift", "gaps", "none", "small", "undetermined", "mdlfwf", "odd", "wide"])
@pytest.mark.parametrize("width", [390, 1_100])
def test_nothing_overflows(open_page, kind, width):
    page = open_page(kind, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.locator("h1").is_visible()


def test_light_and_dark_show_their_own_colours(open_page):
    shots = {}
    for scheme, palette in (("light", LIGHT), ("dark", DARK)):
        page = open_page("drift", width=700, scheme=scheme)
        page.evaluate("document.getElementById('columns').scrollIntoView()")
        shots[scheme] = colours_of(page)
        assert len(shots[scheme]) > 50
        assert shots[scheme].most_common(1)[0][0] in {rgb(palette["page"]), rgb(palette["card"])}
        for name in ("reference", "window", "card", "page"):
            assert shots[scheme][rgb(palette[name])] > 20, (scheme, name)
    assert shots["light"] != shots["dark"]


def test_the_toggle_changes_the_theme_by_keyboard(open_page):
    page = open_page("none", width=500)
    button = page.locator("#theme")
    ground = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(ground)
    button.focus()
    page.keyboard.press("Enter")
    assert page.evaluate(ground) != before
    assert button.inner_text() == "Light theme"
    page.keyboard.press("Enter")
    assert page.evaluate(ground) == before


def test_tables_are_sorted_by_keyboard(open_page):
    page = open_page("drift")
    names = page.locator("#columns tbody th .name")
    ranked = names.all_inner_texts()
    head = page.locator("#columns th[data-sort=text]")
    head.locator("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert names.all_inner_texts() == sorted(ranked)
    page.keyboard.press("Space")
    assert head.get_attribute("aria-sort") == "descending"
    assert names.all_inner_texts() == sorted(ranked, reverse=True)
    assert "descending" in page.locator("#status").inner_text()
    effects = page.locator("#columns th", has_text="Effect size")
    effects.locator("button").click()
    assert effects.get_attribute("aria-sort") == "descending"
    assert head.get_attribute("aria-sort") == "none"
    p_values = page.locator("#columns th", has_text="Adjusted p")
    p_values.locator("button").click()
    assert p_values.get_attribute("aria-sort") == "ascending"
    effects.locator("button").click()
    keys = [
        float(key) for key in page.locator("#columns td:nth-child(3)").evaluate_all("c => c.map(x => x.dataset.key)")
    ]
    assert keys == sorted(keys, reverse=True)


def test_cells_without_a_key_stay_last(open_page):
    page = open_page("odd")
    head = page.locator("#columns th", has_text="Effect size")
    for _ in range(2):
        head.locator("button").click()
        assert page.locator("#columns tbody th .name").last.inner_text() == "empty"


def test_the_focus_is_visible_and_the_first_stop_skips_to_the_verdict(open_page):
    page = open_page("drift")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["y"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_pointing_at_a_chart_tells_its_shares(open_page):
    page = open_page("drift")
    hit = page.locator("svg.chart .hit").nth(8)
    hit.scroll_into_view_if_needed()
    hit.hover()
    assert re.search(r"reference .*%, window .*%", page.locator("#tip").inner_text())
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()


def test_the_page_reads_without_script(open_page):
    page = open_page("drift", java_script_enabled=False)
    assert page.locator("h1").is_visible()
    assert page.locator("#theme").is_hidden()
    assert page.locator("#columns tbody tr").count() == 5


def test_print_is_light_and_shows_whole_tables(open_page):
    page = open_page("wide", scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("#theme").is_hidden()
    assert page.evaluate("getComputedStyle(document.querySelector('.scroll:has(.long)')).maxHeight") == "none"
    assert page.locator("#columns tbody tr").nth(39).is_visible()
    assert page.locator("#columns tbody tr").nth(40).is_hidden()
    assert page.pdf().startswith(b"%PDF")


def test_columns_can_be_searched_and_filtered_and_a_box_that_scrolls_says_so(open_page):
    page = open_page("wide")
    rows = page.locator("#columns tbody tr:visible")
    n_rows = rows.count()
    page.locator(".finder input").fill("column 17")
    assert 0 < rows.count() < n_rows
    assert all("column 17" in text for text in rows.locator("th .name").all_inner_texts())
    page.locator(".finder input").fill("")
    page.locator(".finder select").select_option("values")
    assert 0 < rows.count() == page.locator("#columns tbody tr:visible mark:not(.missing)").count()
    assert page.locator(".finder [role=status]").inner_text() == f"{rows.count()} of {n_rows}"
    page.locator(".finder select").select_option("")
    assert page.locator("#columns .hint:visible").inner_text() == "Scroll down for more."


def test_no_heading_is_printed_without_what_follows_it(open_page):
    page = open_page("drift")
    page.emulate_media(media="print")
    kept = page.evaluate("Array.from(document.querySelectorAll('h2'), (head) => getComputedStyle(head).breakAfter)")
    assert set(kept) == {"avoid"}
    assert page.locator(".finder:visible, .hint:visible, #theme:visible").count() == 0


def test_the_end_of_the_page_is_printed_together(open_page):
    """Data, settings and the last line: wherever a page of paper ends, the line does not stand alone on the next."""
    page = open_page("drift")
    page.emulate_media(media="print")
    style = "getComputedStyle(document.querySelector('{}')).{}"
    assert page.locator("section:last-of-type footer").inner_text().startswith("gapdrift ")
    assert page.evaluate(style.format("section:last-of-type", "breakInside")) == "avoid"


def test_the_words_above_a_table_are_printed_on_one_page(open_page):
    page = open_page("drift")
    page.emulate_media(media="print")
    captions = page.evaluate("Array.from(document.querySelectorAll('caption'), (c) => getComputedStyle(c).breakInside)")
    assert set(captions) == {"avoid"}


def test_checks_are_read_without_scrolling_on_a_phone(open_page):
    page = open_page("gaps", width=390)
    box = page.locator(".scroll:has(table.checks)")
    assert box.count() == 1
    assert box.evaluate("(box) => box.scrollWidth <= box.clientWidth")
