"""Where the result comes from: data, settings, notes."""

from collections.abc import Mapping
from typing import Any

from gapdrift.results.report.markup import text
from gapdrift.results.report.ranking import Record
from gapdrift.results.report.sections._section import Section
from gapdrift.results.report.words import count

__all__ = ["notes", "origin"]

MAX_NOTES = 40
MAX_LETTERS = 300
"""Letters of a note or of a setting."""


def origin(record: Record, sources: Mapping[str, str], made: str) -> Section:
    """Data and settings as terms and their values."""
    items: list[tuple[str, str]] = [
        ("Reference", _side(record["n_reference"], sources.get("reference", ""))),
        ("Window", _side(record["n_window"], sources.get("window", ""))),
        *[(name, words) for name, words in sources.items() if name not in {"reference", "window"}],
    ]
    settings = dict(record.get("settings", {}))
    settings.setdefault("alpha", record["alpha"])
    items += [(name, _words(value)) for name, value in settings.items()]
    items += [("Made", made)] if made else []
    rows = "".join(f"<div><dt>{text(_cut(term))}</dt><dd>{text(_cut(words))}</dd></div>\n" for term, words in items)
    return Section("origin", "Data and settings", f'<dl class="settings">{rows}</dl>')


def notes(record: Record) -> Section | None:
    """Everything that was ignored, replaced or doubtful."""
    said = record["values"]["reason"] if record["drift"] is None else None
    told = [words for words in record["warnings"] if words != said]
    if not told:
        return None
    items = "\n".join(f"<li>{text(_cut(words))}</li>" for words in told[:MAX_NOTES])
    rest = len(told) - MAX_NOTES
    more = f"<p class='fine'>And {count(rest)} more: the JSON has them all.</p>" if rest > 0 else ""
    return Section("notes", "Notes", f'<ul class="notes">{items}</ul>{more}')


def _side(n_rows: int, source: str) -> str:
    rows = f"{count(n_rows)} row{'' if n_rows == 1 else 's'}"
    return f"{source} ({rows})" if source else rows


def _words(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if value is None or value == "":
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _cut(words: str) -> str:
    return words if len(words) <= MAX_LETTERS else f"{words[:MAX_LETTERS]}\N{HORIZONTAL ELLIPSIS}"
