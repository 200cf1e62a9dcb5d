import re

import pytest

from docs._tools.restated import as_pattern, find_loose, sentences
from docs._tools.typed import PAGES, ROOT, find_typed


@pytest.mark.parametrize("page", PAGES)
def test_no_figure_is_typed_into_pages_of_measurements(page):
    assert list(find_typed((ROOT / page).read_text(encoding="utf-8"))) == []


def test_settings_code_and_tables_of_benchmarks_are_no_typed_figures():
    page = """Found in 0.73 of the windows, bar 0.08, at alpha 0.05, `0.2` missing, {{ found }}.
<!-- speed -->
| a | 0.5 |
<!-- /speed -->
```text
0.3
```
Alarms in 3 of 20; [see](x.md#1.5), Python 3.11, version 0.7.23.
"""
    assert list(find_typed(page)) == [(1, "0.73"), (8, "3 of 20")]


REPRODUCTION = (ROOT / "docs/evidence/reproduction.md").read_text(encoding="utf-8")


def test_words_about_the_reproduction_restate_its_tables():
    assert [words for words in sentences(REPRODUCTION) if not re.search(as_pattern(words), REPRODUCTION)] == []


def test_no_other_figure_is_typed_into_the_reproduction():
    assert list(find_loose(REPRODUCTION)) == []


def test_figures_that_differ_from_their_table_are_found():
    changed = REPRODUCTION.replace("imputation 0.874,", "imputation 0.875,")
    assert [figure for _, figure in find_loose(changed)] == ["0.972", "0.837", "0.567", "0.875"]
