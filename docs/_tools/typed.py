"""Figures that were typed into a page: those on pages of measurements must come from files of results.

``python -m docs._tools.typed PAGE...`` lists them; ``tests/docs/test_typed.py`` looks for them on the pages of
``PAGES``. A number that is a setting and not a result is written as code, ``0.2``, or after a word of ``SETTINGS``.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "docs/evidence/measured.md",
    "docs/evidence/peers.md",
    "docs/guides/service.md",
    "docs/guides/time.md",
)
"""Pages on which no figure is typed."""
SETTINGS = r"(?i:alpha|bars?(?: of| is|:)?|levels? (?:is|of)|rate of|at(?: most| least)?|to|and|or|Python) "
"""What may stand before a number that is no result."""
LEFT_OUT = re.compile(
    r"```.*?^```"  # blocks: those that are run are compared by docs/_tools/blocks.py
    r"|<!-- (?P<mark>[\w-]+) -->.*?<!-- /(?P=mark) -->"  # tables that a benchmark writes into the page
    r"|<!-- table [\w ]+ -->.*?<!-- end -->"  # and those of the experiments
    r"|<!--.*?-->"
    r"|``?[^`\n]+``?"
    r"|\{\{.*?\}\}"
    r"|\]\([^)\n]*\)",
    re.DOTALL | re.MULTILINE,
)
FIGURE = re.compile(
    rf"(?<![\d.,])(?<!v)(?P<before>{SETTINGS})?(?P<figure>\d+\.\d+(?![\d.]*\.\d)|\b\d[\d,]* of \d[\d,]*)"
)


def find_typed(text: str) -> Iterator[tuple[int, str]]:
    """Line numbers and figures that were typed, decimal numbers and counts such as 3 of 20."""
    blanked = LEFT_OUT.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    for number, line in enumerate(blanked.splitlines(), 1):
        for match in FIGURE.finditer(line):
            if not match["before"]:
                yield number, match["figure"]


def main() -> None:
    """Print the typed figures of the pages that were given; exit with 1 where there is one."""
    pages = {page: Path(page).read_text(encoding="utf-8") for page in sys.argv[1:]}
    found = [f"{page}:{line}: {figure}" for page, text in pages.items() for line, figure in find_typed(text)]
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
