"""README.md and each page of the documentation are a test: their code blocks run and give what the page shows."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from docs._tools.blocks import check

ROOT = Path(__file__).parent
collect_ignore = ["docs/conf.py", "docs/_tools", "docs/gallery", "examples"]


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "Pages | None":
    """README.md and the pages below docs, except those that are put together when the site is built."""
    path = file_path.relative_to(ROOT) if file_path.is_relative_to(ROOT) else file_path
    is_page = path == Path("README.md") or (
        path.parts[0] == "docs" and {"_generated", "gallery", "python"}.isdisjoint(path.parts)
    )
    return Pages.from_parent(parent, path=file_path) if is_page and path.suffix == ".md" else None


class Pages(pytest.File):
    """A page, which is one test: its blocks build on each other."""

    def collect(self) -> Iterator["PageItem"]:
        """Its only test."""
        yield PageItem.from_parent(self, name="blocks")


class PageItem(pytest.Item):
    """All blocks of a page, run in a temporary folder."""

    def runtest(self) -> None:
        """Fail where a block shows other output than it has."""
        if wrong := check(self.path):
            pytest.fail(wrong, pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the page is."""
        return self.path, 0, f"blocks of {self.path.name}"
