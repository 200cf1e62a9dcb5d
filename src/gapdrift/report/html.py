"""One self-contained HTML page from the record of a result."""

from collections.abc import Mapping
from html import escape
from string import Template
from typing import Any

__all__ = ["render"]

Record = Mapping[str, Any]

SIDES = ("Reference", "Window", "<span class='quiet'>Share</span>")

_PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
:root { color-scheme: light dark; --ink: light-dark(#1c2430, #e6e9ee); --page: light-dark(#ffffff, #14181e);
  --line: light-dark(#d5dae1, #39424e); --reference: light-dark(#4a6fa5, #8fb3e8);
  --window: light-dark(#b4541a, #f0a36b); }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); max-width: 56rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } caption { text-align: left; padding-bottom: .5rem; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.bar { height: .6rem; margin: .2rem 0; border-radius: 2px; }
.reference { background: var(--reference); } .window { background: var(--window); }
.key { display: inline-block; width: .8rem; height: .8rem; border-radius: 2px; margin: 0 .3rem 0 .8rem; }
.scroll { overflow-x: auto; }
.quiet { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
mark { background: var(--window); color: var(--page); border-radius: 3px; padding: 0 .3rem; font-size: .8em; }
@media (max-width: 30rem) { th, td { padding: .3rem .25rem; } td[aria-hidden] { width: 20% !important; } }
@media print { body { margin: 0; max-width: none; } }
</style>
</head>
<body>
<main>
<h1>$verdict</h1>
<p>$details</p>
$key
$sections
</main>
</body>
</html>
""")


def render(record: Record, summary: str) -> str:
    """HTML page of a result.

    Parameters
    ----------
    record : mapping
        As `DriftResult.to_dict` returns it.
    summary : str
        As `DriftResult.summary` returns it: the verdict in the first line.

    Returns
    -------
    page : str
    """
    verdict, *details = summary.split("\n")
    shown = [line for line in details if not line.startswith("Note: ")]
    sections = _warnings(record) + _values(record) + _gaps(record) + _bins(record)
    key = "<p><span class='key reference'></span>reference<span class='key window'></span>window</p>"
    return _PAGE.substitute(
        title=escape(f"gapdrift: {verdict.split(':')[0]}"),
        verdict=escape(verdict),
        details="<br>".join(escape(line) for line in shown),
        key=key if record["bins"] else "",
        sections=sections,
    )


def _warnings(record: Record) -> str:
    said = record["values"]["reason"] if record["drift"] is None else None
    items = "".join(f"<li>{escape(text)}</li>" for text in record["warnings"] if text != said)
    return f"<h2>Warnings</h2><ul>{items}</ul>" if items else ""


def _values(record: Record) -> str:
    """Columns with their tests, smallest p-value first; nothing where single columns were not tested."""
    tested = [feature for feature in record["features"] if feature["p_value"] is not None]
    if not tested:
        return ""
    rows = "".join(
        f"<tr>{_name(feature['name'], feature['adjusted_p_value'], record)}{_p_cell(feature['adjusted_p_value'])}"
        f"<td class='number'>{feature['effect_size']:.2f}</td></tr>"
        for feature in sorted(tested, key=lambda feature: feature["p_value"])
    )
    heads = ("Column", "Adjusted p-value", "Effect size")
    return _table("Values", "Columns by how surely their values moved, alone or with another column", heads, rows)


def _gaps(record: Record) -> str:
    """Columns with their shares of missing cells and, where they were tested, the p-value of the change."""
    if not record["features"]:
        return ""
    tested = any(feature["adjusted_missing_p_value"] is not None for feature in record["features"])
    rows = "".join(
        f"<tr>{_name(feature['name'], feature['adjusted_missing_p_value'], record)}"
        f"{_p_cell(feature['adjusted_missing_p_value']) if tested else ''}"
        f"{_shares(feature['missing_reference'], feature['missing_window'], 1.0)}</tr>"
        for feature in record["features"]
    )
    heads = ("Column", *(("Adjusted p-value",) if tested else ()), *SIDES)
    return _table("Missing cells", "Share of missing cells in each column", heads, rows)


def _bins(record: Record) -> str:
    bins = sorted(record["bins"], key=lambda entry: -entry["contribution"])
    if not bins:
        return ""
    largest = max(max(entry["share_reference"], entry["share_window"]) for entry in bins) or 1.0
    rows = "".join(
        f"<tr><th scope='row'>{escape(entry['description'] or _describe(entry['centre']))}</th>"
        f"{_shares(entry['share_reference'], entry['share_window'], largest)}</tr>"
        for entry in bins
    )
    return _table("Where rows lie", "Bins by their centre, those that moved most first", ("Centre", *SIDES), rows)


def _name(name: str, p_value: float | None, record: Record) -> str:
    """Heading of a row; marked where the verdict is drift and the column is one that moved."""
    moved = bool(record["drift"]) and p_value is not None and p_value < record["alpha"]
    return f"<th scope='row'>{escape(name)}{' <mark>moved</mark>' if moved else ''}</th>"


def _p_cell(p_value: float | None) -> str:
    text = "" if p_value is None else "&lt; 1e-9" if p_value < 1e-9 else f"{p_value:.2g}"
    return f"<td class='number'>{text}</td>"


def _describe(centre: Mapping[str, Any]) -> str:
    parts = [f"{name} {value if isinstance(value, str) else format(value, '.4g')}" for name, value in centre.items()]
    return ", ".join(parts[:8]) + (", ..." if len(parts) > 8 else "")


def _shares(reference: float, window: float, largest: float) -> str:
    bars = "".join(
        f"<div class='bar {side}' style='width:{share / largest:.1%}'></div>"
        for side, share in (("reference", reference), ("window", window))
    )
    return (
        f"<td class='number'>{reference:.1%}</td><td class='number'>{window:.1%}</td>"
        f"<td style='width:35%' aria-hidden='true'>{bars}</td>"
    )


def _table(title: str, caption: str, names: tuple[str, ...], rows: str) -> str:
    heads = "".join(
        f"<th scope='col'{' class=number' if place else ''}>{name}</th>" for place, name in enumerate(names)
    )
    return (
        f"<h2>{title}</h2><div class='scroll'><table><caption>{caption}</caption>"
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
