"""One self-contained HTML page from the record of a result."""

import base64
import hashlib
from collections.abc import Mapping
from string import Template

from gapdrift.results.report.assets import read_asset
from gapdrift.results.report.charts import HATCH
from gapdrift.results.report.markup import text
from gapdrift.results.report.palette import theme_css
from gapdrift.results.report.ranking import Record, state
from gapdrift.results.report.sections._section import Section
from gapdrift.results.report.sections.columns import columns, distributions
from gapdrift.results.report.sections.evidence import evidence
from gapdrift.results.report.sections.gaps import gaps
from gapdrift.results.report.sections.origin import notes, origin
from gapdrift.results.report.sections.regions import regions
from gapdrift.results.report.sections.verdict import facts, how_to_read, verdict
from gapdrift.results.report.sentences import BADGES

__all__ = ["render"]

PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="$policy">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>$badge: $title</title>
<style>$style</style>
</head>
<body>
<a class="skip" href="#main">Skip to the verdict</a>
<header class="top"><p class="brand">$title</p><button id="theme" type="button" hidden>Dark theme</button></header>
<main id="main" tabindex="-1">
$hatch
$verdict
$facts
$help
<nav aria-label="Sections"><ul>$links</ul></nav>
$sections
</main>
<footer><p>$footer</p></footer>
<p id="told" class="quiet" role="status"></p>
<script>$script</script>
</body>
</html>
""")


def render(
    record: Record, *, title: str = "Drift report", sources: Mapping[str, str] | None = None, made: str = ""
) -> str:
    """HTML page of a result.

    Parameters
    ----------
    record : mapping
        As `DriftResult.to_dict` returns it.
    title : str
    sources : mapping of str to str, optional
        Where the data come from: "reference", "window", and anything else worth telling.
    made : str
        When, or by whom, the page was made.

    Returns
    -------
    page : str
        Without any request to elsewhere: its policy forbids them, and names style and script by their hashes.
    """
    style = theme_css() + read_asset("style.css")
    script = read_asset("script.js")
    sections = _sections(record, sources or {}, made)
    return PAGE.substitute(
        policy=f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'",
        badge=BADGES[state(record)],
        title=text(title),
        style=style,
        script=script,
        hatch=HATCH,
        verdict=verdict(record),
        facts=facts(record),
        help=how_to_read(record),
        links="".join(f'<li><a href="#{section.key}">{section.title}</a></li>' for section in sections),
        sections="\n".join(section.html() for section in sections),
        footer=_footer(record),
    )


def _sections(record: Record, sources: Mapping[str, str], made: str) -> list[Section]:
    found = (
        columns(record),
        distributions(record),
        gaps(record),
        regions(record),
        evidence(record),
        origin(record, sources, made),
        notes(record),
    )
    return [section for section in found if section is not None]


def _footer(record: Record) -> str:
    version = record.get("settings", {}).get("version", "")
    return text(f"gapdrift {version}: drift detection for tables with missing values.".replace(" :", ":"))


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
