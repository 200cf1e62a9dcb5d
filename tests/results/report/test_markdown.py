import re

import pytest

import gapdrift as gd
from gapdrift.results.report.markdown import code, escape


def test_a_drift_fits_into_a_comment(results):
    text = results["both"].to_markdown()
    assert text.startswith("### Drift: The data have changed: the values of `")
    assert "| column | values | effect size | missing |" in text
    assert "**Missing values changed:** `" in text
    assert "500 rows in the reference, 2,000 in the window; alpha 0.05; DriftDetector of gapdrift " in text


def test_every_line_of_a_table_has_its_cells(results):
    lines = [line for result in results.values() for line in result.to_markdown().splitlines() if line.startswith("|")]
    assert lines
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 5 for line in lines)


def test_many_columns_are_cut(results):
    text = results["wide"].to_markdown()
    assert len(text) < 10_000
    assert "and 990 more columns." in text
    assert "'column 3' and 996 more has values that the reference does not have" in text


@pytest.mark.parametrize("kind", ["undetermined", "mdlfwf", "none", "small", "gone"])
def test_short_results(results, kind):
    text = results[kind].to_markdown()
    assert "**What to do next:**" in text
    assert "None" not in text
    assert "nan" not in text


def test_odd_names_stay_code(results):
    text = results["odd"].to_markdown()
    text.encode("utf-8")
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    assert "<script" not in outside
    assert not re.search(r"(?<!\\)<", outside)


def test_nothing_is_linked_or_mentioned():
    assert "@someone" not in escape("@someone")
    assert "#12" not in escape("see #12")
    assert "https://" not in escape("https://a.b")
    assert "www." not in escape("www.a.b")
    assert escape("a_b*c`d<e>") == r"a\_b\*c\`d\<e\>"
    assert escape(" and ") == " and "


def test_code_with_ticks_of_its_own():
    assert code("``") == "``` `` ```"
    assert code("a\nb") == "`a b`"


def test_checks_that_failed_are_listed(results):
    window = gd.datasets.stations(300, rng=1)
    window["sky"] = ["@lava"] * 300
    text = gd.compare(gd.datasets.stations(300, rng=0), window).to_markdown()
    assert (
        "**Checks that failed**\n\n- `sky`: New values in 100 % of the cells: '@\N{WORD JOINER}lava' (300).\n" in text
    )
    assert "**Checks that failed**" not in results["none"].to_markdown()
