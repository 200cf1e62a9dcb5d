"""Section with the tests behind the verdict."""

from collections.abc import Callable, Iterable, Mapping

from gapdrift.results.report.markup import Cell, Head, escape_text, render_effect, render_table
from gapdrift.results.report.sections._section import Report, Section
from gapdrift.results.report.words import format_count, format_number, format_p_value
from gapdrift.results.result import Finding

__all__ = ["make_findings"]

MEANINGS = {
    "values": "all tests of the values together",
    "covariates": "values of all columns but the label, P(x)",
    "label": "values of the label, P(y)",
    "concept": "the label, given the other columns, P(y | x)",
    "level": "level of the label where the other columns are the same",
    "slopes": "how the label rises or falls with the other columns",
    "curves": "relations of the label that are not straight lines",
    "spread": "how much the label scatters where the other columns are the same",
    "missingness": "all tests of missing values together",
    "location": "where the values of each column lie, on the average",
    "dependence": "how two columns go together",
    "interactions": "bent relations of two columns, and relations of three",
    "distributions": "distribution of each column by itself",
    "scales": "spread of each column",
    "outside": "share of values beyond all that batches have had",
    "associations": "how closely each column follows the others",
    "correlations": "how two columns go together",
    "products": "spread of each column, and how two go together",
    "bins": "shares of rows in regions of similar rows",
    "missing": "share of missing cells of each column by itself",
    "rates": "share of missing cells of each column",
    "patterns": "which columns are missing together",
    "conditions": "at which values of other columns each column is missing",
    "pearson": "shares of rows in regions of similar rows (chi-square)",
    "wald": "shares of rows in regions of similar rows (Wald)",
}
"""What each test compares."""


QUANTITIES: Mapping[str, Callable[[Finding], str]] = {
    "Statistic": lambda finding: "" if finding.statistic is None else format_number(finding.statistic),
    "Degrees of freedom": lambda finding: "" if (n := finding.degrees_of_freedom) is None else format_count(n),
    "p-value": lambda test: escape_text(format_p_value(test.p_value)) if test.determined else "not tested",
    "Effect size": lambda finding: render_effect(finding.effect_size),
}
"""Columns of the table, with the HTML of a finding's cell; a column that is empty for every test is left out."""


def make_findings(report: Report) -> Section:
    """Table of the findings and their parts."""
    result = report.result
    given = (result.values, result.concept, result.missingness)
    findings = [finding for finding in given if finding is not None]
    everything = [each for finding in findings for each in _with_parts(finding)]
    shown = {title: render for title, render in QUANTITIES.items() if any(map(render, everything))}
    heads = [Head("Test"), Head("What it compares", "", "words")]
    heads += [Head(title, "", "number") for title in shown]
    rows = [
        _make_row(each, "" if each is finding else "part", shown.values())
        for finding in findings
        for each in _with_parts(finding)
    ]
    reasons = "".join(f"<p>{escape_text(finding.reason)}</p>" for finding in findings if finding.reason)
    table = render_table("Tests, and the parts that they combine", heads, rows, kind="tests")
    return Section("tests", "Tests behind the verdict", f"{reasons}{table}")


def _with_parts(finding: Finding) -> list[Finding]:
    """A finding, its parts, and theirs."""
    return [finding, *(each for part in finding.parts for each in _with_parts(part))]


def _make_row(finding: Finding, kind: str, renderers: Iterable[Callable[[Finding], str]]) -> list[Cell]:
    return [
        Cell(escape_text(finding.name), None, kind),
        Cell(escape_text(MEANINGS.get(finding.name, "")), None, "words"),
        *(Cell(render(finding), None, "number") for render in renderers),
    ]
