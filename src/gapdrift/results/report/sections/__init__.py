"""The sections of the HTML report, in the order of the page.

To add one: write a module with a function from `Report` to `Section` (None if there is nothing to show), put that
function into `SECTIONS`, and test it in ``tests/results/report/sections``. Heading, place in the page and entry in the
table of contents follow from the list.
"""

from collections.abc import Callable

from gapdrift.results.report.sections._section import Report, Section
from gapdrift.results.report.sections.checks import make_checks
from gapdrift.results.report.sections.columns import make_columns
from gapdrift.results.report.sections.distributions import make_distributions
from gapdrift.results.report.sections.findings import make_findings
from gapdrift.results.report.sections.missing import make_missing
from gapdrift.results.report.sections.notes import make_notes
from gapdrift.results.report.sections.origin import make_origin
from gapdrift.results.report.sections.pairs import make_pairs
from gapdrift.results.report.sections.regions import make_regions
from gapdrift.results.report.sections.usual import make_usual

__all__ = ["SECTIONS"]

SECTIONS: tuple[Callable[[Report], Section | None], ...] = (
    make_usual,
    make_notes,
    make_columns,
    make_pairs,
    make_distributions,
    make_missing,
    make_regions,
    make_checks,
    make_findings,
    make_origin,
)
