"""The tests behind the verdict."""

from collections.abc import Callable
from dataclasses import dataclass

from gapdrift.results.report.markup import Cell, Head, escape_text, render_effect, render_table
from gapdrift.results.report.sections._section import Report, Section
from gapdrift.results.report.words import format_count, format_number, format_p_value
from gapdrift.results.result import Finding

__all__ = ["make_findings"]

MEANINGS = {
    "values": "all tests of the values together",
    "missingness": "all tests of the gaps together",
    "location": "typical value of each column",
    "dependence": "spread of each column, and how columns go together",
    "bins": "shares of rows in regions of similar rows",
    "rates": "share of missing cells of each column",
    "patterns": "which columns are missing together",
    "pearson": "shares of rows in regions of similar rows (chi-square)",
}
"""What each test compares."""


@dataclass(frozen=True)
class Quantity:
    """A column of the table that is left out where no test has a number for it.

    Parameters
    ----------
    title : str
    render : function
        From a finding to the cell's HTML, empty where the finding has no such number.
    """

    title: str
    render: Callable[[Finding], str]


def _render_statistic(finding: Finding) -> str:
    return "" if finding.statistic is None else format_number(finding.statistic)


def _render_degrees(finding: Finding) -> str:
    return "" if finding.degrees_of_freedom is None else format_count(finding.degrees_of_freedom)


def _render_p_value(finding: Finding) -> str:
    return escape_text(format_p_value(finding.p_value)) if finding.determined else "not tested"


QUANTITIES = (
    Quantity("Statistic", _render_statistic),
    Quantity("Degrees of freedom", _render_degrees),
    Quantity("p-value", _render_p_value),
    Quantity("Effect size", lambda finding: render_effect(finding.effect_size)),
)


def make_findings(report: Report) -> Section:
    """Table of the findings and their parts."""
    result = report.result
    findings = [finding for finding in (result.values, result.missingness) if finding is not None]
    everything = [each for finding in findings for each in (finding, *finding.parts)]
    quantities = [quantity for quantity in QUANTITIES if any(map(quantity.render, everything))]
    heads = [Head("Test"), Head("What it compares", "", "words")]
    heads += [Head(quantity.title, "", "number") for quantity in quantities]
    rows = [
        _make_row(each, "" if each is finding else "part", quantities)
        for finding in findings
        for each in (finding, *finding.parts)
    ]
    reasons = "".join(f"<p>{escape_text(finding.reason)}</p>" for finding in findings if finding.reason)
    table = render_table("Tests, and the parts that they combine", heads, rows, kind="tests")
    return Section("tests", "Tests behind the verdict", f"{reasons}{table}")


def _make_row(finding: Finding, kind: str, quantities: list[Quantity]) -> list[Cell]:
    return [
        Cell(escape_text(finding.name), None, kind),
        Cell(escape_text(MEANINGS.get(finding.name, "")), None, "words"),
        *(Cell(quantity.render(finding), None, "number") for quantity in quantities),
    ]
