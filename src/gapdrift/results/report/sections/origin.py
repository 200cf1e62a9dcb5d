"""Section with the data and the settings that the result comes from."""

from gapdrift.results.report.markup import escape_text
from gapdrift.results.report.sections._section import Report, Section
from gapdrift.results.report.words import cut_text, format_count
from gapdrift.results.result import PlainSetting

__all__ = ["make_origin"]


def make_origin(report: Report) -> Section:
    """Data and settings as terms and their values."""
    result, sources = report.result, report.sources
    settings: dict[str, PlainSetting] = dict(result.settings)
    settings.setdefault("alpha", result.alpha)
    items = [
        ("Reference", _describe_side(result.n_reference, sources.get("reference", ""))),
        ("Window", _describe_side(result.n_window, sources.get("window", ""))),
        *[(name, words) for name, words in sources.items() if name not in {"reference", "window"}],
        *[(name, _describe_setting(value)) for name, value in settings.items()],
        *([("Made", report.made)] if report.made else []),
    ]
    cut = ((escape_text(cut_text(words)) for words in item) for item in items)
    rows = "".join(f"<div><dt>{term}</dt><dd>{words}</dd></div>\n" for term, words in cut)
    # In the section, so that on paper the last line never stands alone on a page.
    program = " ".join(["gapdrift", *([str(settings["version"])] if settings.get("version") else [])])
    last = f"<footer>{escape_text(program)}: drift detection for tables with missing values.</footer>"
    return Section("origin", "Data and settings", f'<dl class="settings">{rows}</dl>{last}')


def _describe_side(n_rows: int, source: str) -> str:
    rows = f"{format_count(n_rows, 'row')} compared"
    return f"{source} ({rows})" if source else rows


def _describe_setting(value: PlainSetting) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    if value is None or value == "":
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)
