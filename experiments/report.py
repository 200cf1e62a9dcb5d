"""The tables in a document: each between two marks, so that the words around them stay."""

from pathlib import Path

from experiments.protocols import PROTOCOLS
from experiments.tables import TABLES

__all__ = ["write_report"]


def write_report(results: Path, output: Path) -> Path:
    """Put the tables of a run into a document; one that is not there yet is begun.

    A table stands between ``<!-- table NAME PROTOCOL -->`` and ``<!-- end -->``; everything else stays as it is.
    """
    text = output.read_text(encoding="utf-8") if output.is_file() else _blank()
    for name, maker in TABLES.items():
        for protocol in PROTOCOLS:
            mark = f"<!-- table {name} {protocol} -->"
            if mark in text:
                block = f"{mark}\n\n{maker(protocol, results).to_markdown()}\n\n<!-- end -->"
                before, _, rest = text.partition(mark)
                text = before + block + rest.partition("<!-- end -->")[2]
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text, encoding="utf-8")
    return output


def _blank() -> str:
    parts = ["# The paper, reproduced\n"]
    for name in TABLES:
        parts.append(f"## Table {name}\n")
        parts += [f"<!-- table {name} {protocol} --><!-- end -->\n" for protocol in PROTOCOLS]
    return "\n".join(parts)
