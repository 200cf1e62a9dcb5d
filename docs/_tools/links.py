"""Checks of the built site: every link and anchor leads somewhere, and no page loads anything from another host.

``python -m docs._tools.links FOLDER`` prints what is wrong and exits with 1 then.
"""

import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "video": "src"}
NOT_LOADED = ("canonical", "next", "prev", "author", "search", "index")


class _Page(HTMLParser):
    """Anchors of a page, and what it links to and loads."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what matters of one element."""
        given = dict(attrs)
        self.anchors |= {str(given[name]) for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.append(str(given["href"]))
        wanted = given.get(LOADED.get(tag, ""))
        if wanted and given.get("rel") not in NOT_LOADED:
            self.loaded.append(wanted)


@cache
def read(path: Path) -> _Page:
    """One page of the site."""
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def find_faults(site: Path) -> Iterator[str]:
    """Sentences about links that lead nowhere and things that are loaded from elsewhere."""
    for path in sorted(site.rglob("*.html")):
        name = path.relative_to(site)
        for target in read(path).loaded:
            parts = urlsplit(target)
            if parts.scheme not in ("", "data") or parts.netloc:
                yield f"{name} loads {target} from another host."
        for target in (*read(path).links, *read(path).loaded):
            if fault := _fault(path, target):
                yield f"{name}: {fault}"


def _fault(path: Path, target: str) -> str:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return ""
    file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if file.is_dir():
        file /= "index.html"
    if not file.is_file():
        return f"{target} is not there."
    is_anchor_missing = parts.fragment and file.suffix == ".html" and unquote(parts.fragment) not in read(file).anchors
    return f"{target} has no such anchor." if is_anchor_missing else ""


if __name__ == "__main__":
    faults = list(find_faults(Path(sys.argv[1])))
    print(*faults, f"{len(faults)} faults in {sys.argv[1]}.", sep="\n")
    sys.exit(bool(faults))
