"""The tests behind the verdict."""

from gapdrift.results.report.markup import Cell, Head, table, text
from gapdrift.results.report.ranking import Record
from gapdrift.results.report.sections._section import Section
from gapdrift.results.report.words import effect_word, format_p_value, number

__all__ = ["evidence"]

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

HEADS = (
    Head("Test"),
    Head("What it compares", "", "words"),
    Head("Statistic", "", "number"),
    Head("Degrees of freedom", "", "number"),
    Head("p-value", "", "number"),
    Head("Effect size", "", "number"),
)

DASH = '<span aria-hidden="true">\N{EN DASH}</span><span class="quiet">none</span>'


def evidence(record: Record) -> Section:
    """Table of the findings and their parts."""
    findings = [finding for finding in (record["values"], record["missingness"]) if finding is not None]
    rows = [
        row for finding in findings for row in (_row(finding, ""), *(_row(part, "part") for part in finding["parts"]))
    ]
    reasons = "".join(f"<p>{text(finding['reason'])}</p>" for finding in findings if finding["reason"])
    note = "A dash: several tests are combined, or there is no single number of this kind."
    body = f"{reasons}{table('Tests, and the parts that they combine', HEADS, rows, kind='tests')}"
    return Section("tests", "Tests behind the verdict", f"{body}<p class='fine'>{note}</p>")


def _row(finding: Record, kind: str) -> list[Cell]:
    tested = not finding["reason"]
    statistic, freedom, effect = finding["statistic"], finding["degrees_of_freedom"], finding["effect_size"]
    size = DASH if kind or not tested else f"{effect:.2f} <small class='word'>{effect_word(effect)}</small>"
    return [
        Cell(text(finding["name"]), None, kind),
        Cell(text(MEANINGS.get(finding["name"], "")), None, "words"),
        Cell(number(statistic) if statistic else DASH, None, "number"),
        Cell(f"{freedom:,}" if freedom and statistic else DASH, None, "number"),
        Cell(text(format_p_value(finding["p_value"])) if tested else "not tested", None, "number"),
        Cell(size, None, "number"),
    ]
