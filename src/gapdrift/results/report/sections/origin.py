"""Where the result comes from: data and settings."""

from gapdrift.results.report.markup import escape_text
from gapdrift.results.report.sections._section import Report, Section
from gapdrift.results.report.words import format_count
from gapdrift.results.result import Setting

__all__ = ["make_origin"]

MAX_LETTERS = 300
"""Letters of a setting."""


def make_origin(report: Report) -> Section:
    """Data and settings as terms and their values."""
    result, sources = report.result, report.sources
    settings: dict[str, Setting] = dict(result.settings)
    settings.setdefault("alpha", result.alpha)
    items = [
        ("Reference", _describe_side(result.n_reference, sources.get("reference", ""))),
        ("Window", _describe_side(result.n_window, sources.get("window", ""))),
        *[(name, words) for name, words in sources.items() if name not in {"reference", "window"}],
        *[(name, _describe_setting(value)) for name, value in settings.items()],
        *([("Made", report.made)] if report.made else []),
    ]
    rows = "".join(f"<div><dt>{_render(term)}</dt><dd>{_render(words)}</dd></div>\n" for term, words in items)
    return Section("origin", "Data and settings", f'<dl class="settings">{rows}</dl>')


def _describe_side(n_rows: int, source: str) -> str:
    rows = format_count(n_rows, "row")
    return f"{source} ({rows})" if source else rows


def _describe_setting(value: Setting) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    if value is None or value == "":
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _render(words: str) -> str:
    return escape_text(words if len(words) <= MAX_LETTERS else f"{words[:MAX_LETTERS]}\N{HORIZONTAL ELLIPSIS}")
