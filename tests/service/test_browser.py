"""Every page in a real browser, on a desktop and on a phone, light and dark."""

import shutil
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("playwright")

import uvicorn
from playwright import sync_api

from tests.service.conftest import start
from tests.service.test_pages import ORDERS, PAGES

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")

AUDIT = (Path(__file__).parent / "audit.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def address(built, tmp_path_factory):
    """Address of a service that listens in a thread."""
    folder, _ = built
    app = start(shutil.copy(folder / "full.db", tmp_path_factory.mktemp("browser") / "a.db"))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        )
        yield browser
        browser.close()


def open_context(browser, width, scheme, **options):
    return browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **options)


@pytest.fixture
def sign_in(built, address):
    """Function that makes a browser that of an admin of the service."""
    _, facts = built
    cookie = {"name": "gapdrift_session", "value": facts["cookies"]["operator"], "url": address}
    return lambda context: context.add_cookies([cookie])


@pytest.mark.parametrize(("width", "scheme"), [(1_280, "light"), (1_280, "dark"), (390, "light"), (390, "dark")])
def test_every_page(browser, address, sign_in, width, scheme):
    said, asked, problems = [], [], {}
    context = open_context(browser, width, scheme)
    page = context.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))

    def look(place):
        problems[place] = page.evaluate(AUDIT)

    for place in ("/login", "/welcome?link=x"):
        page.goto(address + place)
        look(place)
    sign_in(context)
    for place in PAGES:
        page.goto(address + place)
        look(place)
    page.goto(f"{address}/projects/own/settings")
    tokens = page.locator("form[action$='/tokens']")
    tokens.locator("input[name=name]").fill(f"{scheme}-{width}")
    tokens.locator("button").click()
    page.wait_for_selector(".secret")
    look("a new token")
    page.goto(f"{address}/admin")
    users = page.locator("form[action='/users']")
    users.locator("input[name=name]").fill(f"{scheme}-{width}")
    users.locator("button").click()
    page.wait_for_selector(".secret code")
    look("an invitation")
    page.goto(page.locator(".secret code").inner_text().replace(page.url.partition("/users")[0], address))
    look("an invitation, followed")
    assert said == []
    page.goto(address + "/nothing")
    look("/nothing")
    context.close()
    assert {place: found for place, found in problems.items() if found} == {}
    assert all(url.startswith(address) for url in asked)


def test_by_keyboard(browser, address, sign_in):
    context = open_context(browser, 1_280, "light")
    sign_in(context)
    page = context.new_page()
    page.goto(address + ORDERS)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.getElementById('main').contains(document.activeElement)")
    seen = []
    for _ in range(40):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.getAttribute('href') || document.activeElement.className"))
    assert f"{ORDERS}/windows/0" in seen
    assert seen.index(f"{ORDERS}/windows/0") < seen.index(f"{ORDERS}/windows/7")
    context.close()


def test_without_script(browser, address, sign_in):
    context = open_context(browser, 390, "light", java_script_enabled=False)
    sign_in(context)
    page = context.new_page()
    page.goto(address + "/projects/own/alarms")
    before = page.locator(".alarm").count()
    page.locator(".alarm button", has_text="Acknowledge").first.click()
    assert page.url.endswith("/projects/own/alarms?state=open")
    assert page.locator(".alarm").count() == before - 1
    context.close()


def test_the_theme_lasts(browser, address, sign_in):
    context = open_context(browser, 1_280, "light")
    sign_in(context)
    page = context.new_page()
    page.goto(address + "/")
    page.locator("#theme").click()
    page.goto(address + ORDERS)
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    context.close()
