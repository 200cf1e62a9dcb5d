"""Results of every kind, to be shown in every format."""

from html.parser import HTMLParser

import numpy as np
import pytest

import gapdrift as gd
from experiments.distributions import DRIFTS

ODD_NAMES = (
    "<script>alert(1)</script>",
    "\"quoted\" & 'single'",
    "pipe|tick`tick",
    "\u0639\u0645\u0631 \u0627\u0644\u0639\u0645\u064a\u0644",
    "\N{THERMOMETER} \N{WOMAN}\N{ZERO WIDTH JOINER}\N{MICROSCOPE}",
    "long" * 100,
    "line\nbreak\tand\x00nothing",
    "\N{RIGHT-TO-LEFT OVERRIDE}evil",
    " ",
    "\ud800",
)
ODD_CATEGORIES = ("<img src=x onerror=alert(1)>", "\u05e9\u05dc\u05d5\u05dd", "b" * 300, "]]></svg>")


def odd_table(n_rows, shift, rng):
    """Names, categories and numbers that nobody wishes for."""
    table = {name: rng.normal(shift, 1.0, n_rows) for name in ODD_NAMES}
    table["huge"] = 1e90 * rng.normal(shift, 1.0, n_rows)
    table["tiny"] = 1e-200 * rng.normal(shift, 1.0, n_rows)
    table["close"] = 1e6 + 1e-7 * rng.normal(shift, 1.0, n_rows)
    table["constant"] = np.full(n_rows, 5.0 + shift)
    table["empty"] = np.full(n_rows, np.nan)
    shares = (0.4, 0.3, 0.2, 0.1) if shift else (0.1, 0.2, 0.3, 0.4)
    table["categories"] = rng.choice(np.array(ODD_CATEGORIES, dtype=object), n_rows, p=shares)
    return table


def wide_result(n_columns, name="column {}"):
    """Result with many columns, made by hand: fitting so many would take long."""
    rng = np.random.default_rng(0)
    edges = tuple(np.linspace(-3.0, 3.0, 21).tolist())
    features = tuple(
        gd.results.FeatureFinding(
            name.format(place),
            0.1,
            0.1 + 0.8 * float(rng.random()),
            *(1e-12 if place < 50 else 0.7, 1e-10 if place < 50 else 1.0, float(rng.random())),
            *(1e-9, 1e-6),
            gd.results.Histogram((), edges, *(tuple(rng.dirichlet(np.ones(20)).tolist()) for _ in range(2))),
            tested=True,
            missing_tested=True,
        )
        for place in range(n_columns)
    )
    parts = tuple(gd.results.Finding(part, 12.0, 3, 1e-10, 0.4) for part in ("location", "dependence", "distributions"))
    values = gd.results.Finding("values", None, None, 1e-10, 0.9, parts=parts)
    centre = dict.fromkeys((feature.name for feature in features), 1.0)
    bins = tuple(gd.results.BinFinding(centre, 0.05, float(share), 3.0) for share in rng.dirichlet(np.ones(20)))
    notes = tuple(f"Column {feature.name!r} has values that the reference does not have." for feature in features)
    missingness = gd.results.Finding("missingness", None, None, 1e-10, 0.8)
    return gd.DriftResult(True, 1e-9, 0.05, 10**6, 10**9, values, missingness, features, bins, notes)


@pytest.fixture(scope="session")
def results():
    """One result of every kind, by name."""
    stations = gd.datasets.stations
    calm = gd.DriftDetector(random_state=0).fit(stations(500, 0))
    strict = gd.DriftDetector(random_state=0, min_effect=2.0).fit(stations(500, 0))
    rng = np.random.default_rng(3)
    drift = DRIFTS["gaussian-mean"]
    published = gd.MDLFWF(random_state=0).fit(drift.sample(300, severity=0, missing=0.2, rng=1))
    odd = gd.DriftDetector(random_state=0).fit(odd_table(300, 0, rng))
    one = gd.DriftDetector(random_state=0).fit({"price": rng.gamma(2.0, 10.0, 300)})
    gone = stations(300, 4)
    gone = {name: np.full_like(cells, None if name == "sky" else np.nan) for name, cells in gone.items()}
    return {
        "drift": calm.test(stations(500, 2, drift=True)),
        "gaps": calm.test(stations(500, 3, missing=0.6)),
        "both": calm.test(stations(2_000, 2, drift=True, missing=0.35)),
        "none": calm.test(stations(500, 1)),
        "small": strict.test(stations(500, 2, drift=True)),
        "undetermined": calm.test(stations(5, 1)),
        "gone": calm.test(gone),
        "mdlfwf": published.test(drift.sample(300, severity=10, missing=0.2, rng=2)),
        "mdlfwf empty": published.test(np.empty((0, 4))),
        "one column": one.test({"price": rng.gamma(2.0, 20.0, 300)}),
        "odd": odd.test(odd_table(200, 1, rng)),
        "wide": wide_result(1_000),
    }


class Page(HTMLParser):
    """What a page holds: its elements in order, its ids, and the text of each."""

    VOID = frozenset({"meta", "br", "wbr", "link", "img", "input"})

    def __init__(self, html):
        super().__init__()
        self.elements = []
        self.open = []
        self.unclosed = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        element = {
            "tag": tag,
            "attributes": dict(attrs),
            "children": [],
            "text": "",
            "in": [e["tag"] for e in self.open],
        }
        if self.open:
            self.open[-1]["children"].append(element)
        self.elements.append(element)
        if tag not in self.VOID:
            self.open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open[-1]["tag"] != tag:
            self.unclosed.append(tag)
            return
        self.open.pop()

    def handle_data(self, data):
        for element in self.open:
            element["text"] += data

    def all(self, *tags):
        """Elements of these tags, in order."""
        return [element for element in self.elements if element["tag"] in tags]

    def section(self, key):
        """Section with this id."""
        return next(element for element in self.all("section") if element["attributes"]["id"] == key)

    def rows(self, key):
        """Cells of the rows of a section's tables, as text; folded tables are left out."""
        return [[cell["text"] for cell in row["children"]] for row in _body_rows(self.section(key))]


def _body_rows(element):
    if element["tag"] == "details":
        return []
    if element["tag"] == "tbody":
        return element["children"]
    return [row for child in element["children"] for row in _body_rows(child)]
