"""The report as one self-contained HTML page."""

import base64
import hashlib
from collections.abc import Mapping
from string import Template

from gapdrift.results.report.assets import read_asset
from gapdrift.results.report.charts import HATCH
from gapdrift.results.report.markup import escape_text
from gapdrift.results.report.palette import theme_css
from gapdrift.results.report.ranking import state
from gapdrift.results.report.sections import SECTIONS
from gapdrift.results.report.sections._section import Report
from gapdrift.results.report.sentences import BADGES
from gapdrift.results.report.verdict import render_facts, render_help, render_verdict
from gapdrift.results.result import DriftResult

__all__ = ["content_hash", "render_html"]

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
<p id="status" class="quiet" role="status"></p>
<script>$script</script>
</body>
</html>
""")


def render_html(
    result: DriftResult, *, title: str = "Drift report", sources: Mapping[str, str] | None = None, made: str = ""
) -> str:
    """HTML page of a result.

    Parameters
    ----------
    result : DriftResult
    title : str
    sources : mapping of str to str, optional
        Where the data come from: "reference", "window", and anything else the reader should know.
    made : str
        When, or by whom, the page was made.

    Returns
    -------
    page : str
        It makes no requests: its content security policy forbids them, and allows style and script by their hashes.
    """
    style = theme_css() + read_asset("style.css")
    script = read_asset("script.js")
    report = Report(result, sources or {}, made)
    sections = [section for make_section in SECTIONS if (section := make_section(report)) is not None]
    return PAGE.substitute(
        policy=f"default-src 'none'; style-src '{content_hash(style)}'; script-src '{content_hash(script)}'; "
        "base-uri 'none'; form-action 'none'",
        badge=BADGES[state(result)],
        title=escape_text(title),
        style=style,
        script=script,
        hatch=HATCH,
        verdict=render_verdict(result),
        facts=render_facts(result),
        help=render_help(result),
        links="".join(f'<li><a href="#{section.key}">{section.title}</a></li>' for section in sections),
        sections="\n".join(section.html() for section in sections),
    )


def content_hash(content: str) -> str:
    """Hash of a style or script, as a content security policy names it."""
    digest = hashlib.sha256(content.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
