"""The list of sections: order, keys, and that a new one needs no more than an entry."""

from gapdrift.results.report.html import render_html
from gapdrift.results.report.sections import SECTIONS
from gapdrift.results.report.sections._section import Report, Section
from tests.results.report.conftest import Page


def test_every_section_has_a_key_of_its_own(results):
    for result in results.values():
        report = Report(result, {}, "")
        keys = [section.key for make in SECTIONS if (section := make(report)) is not None]
        assert len(keys) == len(set(keys))


def test_a_section_in_the_list_is_on_the_page(results, monkeypatch):
    def make_greeting(report):
        return Section("greeting", "Greeting", f"<p>{report.result.n_window} rows</p>")

    monkeypatch.setattr("gapdrift.results.report.html.SECTIONS", (make_greeting, *SECTIONS))
    page = Page(render_html(results["drift"]))
    assert page.all("h2")[0]["text"] == "Greeting"
    assert page.section("greeting")["text"].endswith("500 rows\n")
    assert page.all("nav")[0]["text"].startswith("Greeting")
