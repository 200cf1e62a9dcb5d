"""Sentences of pages that compare measurements in words: true of the files of results that the pages show."""

import re

import pytest

from docs._tools.results import read
from docs._tools.typed import ROOT

TIME = {
    (row["cell"], row["batches"], row["window"]): (
        float(row["alarms"]),
        {name: float(rate) for name, rate in re.findall(r"([A-Za-z][A-Za-z ]*?) (\d\.\d+)", row["others"])},
    )
    for row in read(ROOT / "benchmarks/results/time.csv")
}
LESS = [
    ("Tripled missing cells", ("beijing", "10", "missing"), "NannyML"),
    ("Tripled missing cells", ("beijing", "20", "missing"), "NannyML"),
    ("Shifts", ("year gaps", "50", "shifted"), "Hotelling"),
    ("Shifts", ("shifts gaps", "50", "shifted"), "Hotelling"),
    ("Spread", ("independent", "50", "spread"), "plain test"),
]


@pytest.mark.parametrize(("sentence", "row", "rival"), LESS)
def test_what_falls_short_among_batches(sentence, row, rival):
    ours, others = TIME[row]
    assert f"*{sentence}*" in (ROOT / "docs/guides/time.md").read_text(encoding="utf-8")
    assert ours < others[rival], f"docs/guides/time.md, 'What falls short', {sentence}: no longer so for {row}."


def test_no_cell_has_300_windows():
    windows = [int(row["windows"]) for row in read(ROOT / "benchmarks/results/time.csv")]
    assert max(windows) < 300, "docs/guides/time.md, 'What falls short', Other cells: there is one by now."
