"""Picture of the guide to time: a window among the usual batches, as the report draws it.

``python -m docs._tools.strips`` writes ``docs/guides/usual.svg``.
"""

import re
from pathlib import Path

import numpy as np

import gapdrift as gd
from gapdrift.results.report.sections.usual import KINDS, draw_strip

TARGET = Path(__file__).parents[1] / "guides" / "usual.svg"
STYLE = (
    "text{font:12px sans-serif;fill:#555}.axis{stroke:#999;fill:none}.reference{fill:#5b8db8;fill-opacity:.6}"
    ".window-line{stroke:#c0392b;stroke-width:2;fill:none}"
)
LINE, LABEL = 44, 230


def example() -> gd.DriftResult:
    """Result of a day in a month of days that differ: its missing cells are those of no other day."""
    rng = np.random.default_rng(0)
    day = np.repeat(np.arange(30), 100)
    price = rng.normal(size=30)[day] + rng.normal(size=3_000)
    history = {"day": day, "price": price, "weight": price + 0.5 * rng.normal(size=3_000)}
    window = {"price": 1 + rng.normal(size=100), "weight": 1 + rng.normal(size=100)}
    history["weight"][rng.random(3_000) < 0.05] = np.nan
    window["weight"][rng.random(100) < 0.25] = np.nan
    return gd.DriftDetector(random_state=0).fit(history, batches="day").test(window)


def picture(result: gd.DriftResult) -> str:
    """SVG of the strips of a result, one below the other, with what they show."""
    assert result.usual is not None
    parts = []
    for place, strip in enumerate(result.usual.strips):
        inner = re.sub(r"^.*?<svg[^>]*>|</svg>.*$", "", draw_strip(strip), flags=re.DOTALL)
        label = f"{strip.name or 'all columns'}: {KINDS[strip.kind]}"
        top = place * LINE + 8
        parts.append(f'<text x="6" y="{top + 20}">{label}</text><g transform="translate({LABEL} {top})">{inner}</g>')
    height = len(parts) * LINE
    size = f'width="500" height="{height}" viewBox="0 0 500 {height}"'
    rows = "\n".join(parts)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<style>{STYLE}</style>\n{rows}\n</svg>\n'


if __name__ == "__main__":
    TARGET.write_text(picture(example()), encoding="utf-8")
    print(f"Wrote {TARGET}")
