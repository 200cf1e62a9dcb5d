import re

import numpy as np

import gapdrift as gd


def test_page_is_self_contained_and_says_the_verdict(tmp_path, fitted, gaussian_drift):
    result = fitted.test(gaussian_drift.sample(500, severity=10, missing=0.2, rng=3))
    page = result.to_html(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
    assert f"<h1>{result.summary().splitlines()[0]}</h1>" in page
    assert not re.search(r"(src|href)=|https?://|@import|url\(", page)
    assert page.count("<tr>") == 1 + 4 + 1 + 10


def test_names_cannot_break_out(rng):
    table = {"<script>alert(1)</script>": rng.normal(size=100), "b": rng.choice(["<i>", "&"], 100)}
    page = gd.MDLFWF(random_state=0).fit(table).test(table).to_html()
    assert "<script>" not in page
    assert "<i>" not in page


def test_undetermined_page(fitted):
    page = fitted.test(np.empty((0, 4))).to_html()
    assert "UNDETERMINED" in page
    assert "The window has no rows." in page


def test_columns_are_listed_by_how_surely_they_moved():
    detector = gd.DriftDetector(random_state=0).fit(gd.datasets.stations(500, 0))
    page = detector.test(gd.datasets.stations(500, 2, drift=True)).to_html()
    values = page[page.index("<h2>Values</h2>") : page.index("<h2>Missing cells</h2>")]
    names = ["temperature", "humidity", "pressure", "wind", "sky"]
    assert set(sorted(names, key=values.index)[:2]) == {"temperature", "humidity"}
    assert values.count("<mark>moved</mark>") >= 2
    assert "about" in page[page.index("Where rows lie") :]


def test_moved_gaps_are_marked():
    detector = gd.DriftDetector(random_state=0).fit(gd.datasets.stations(500, 0))
    page = detector.test(gd.datasets.stations(500, 2, missing=0.6)).to_html()
    gaps = page[page.index("<h2>Missing cells</h2>") : page.index("<h2>Where rows lie</h2>")]
    assert gaps.count("<mark>moved</mark>") == 5
