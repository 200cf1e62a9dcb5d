import dataclasses

import pytest

from gapdrift.results.report.sentences import (
    say_headline,
    say_how_sure,
    say_next_step,
    say_what_differs,
    say_what_stayed,
)
from gapdrift.results.report.words import join_names
from tests.results.report.plain import to_plain_text

HEADLINES = {
    "none": "No change found: the values and the missing values of the window look like those of the reference.",
    "small": "Hardly any change: the values differ, but by less than the limit set for an alarm.",
    "undetermined": "Nothing can be said yet: there is too little data.",
    "mdlfwf": "The data have changed: the values of the window differ from the reference.",
    "one column": "The data have changed: the values of price differ from the reference.",
}


@pytest.mark.parametrize("kind", HEADLINES)
def test_headlines(results, kind):
    assert to_plain_text(say_headline(results[kind])) == HEADLINES[kind]


def test_changed_columns_are_named_in_the_headline(results):
    words = to_plain_text(say_headline(results["drift"]))
    assert words.startswith("The data have changed: the values of ")
    assert "temperature" in words
    assert "humidity" in words
    assert "missing" not in words


def test_missing_values_alone_are_no_change_of_values(results):
    result = results["gaps"]
    words = to_plain_text(say_headline(result))
    assert words.startswith("The missing values have changed: ")
    assert words.endswith(" and 2 more columns have more missing values than before.")
    assert to_plain_text(say_what_stayed(result)) == "The values themselves look as before."
    assert say_what_differs(result) == ()


def test_both_are_in_one_headline(results):
    words = to_plain_text(say_headline(results["both"]))
    assert "differ from the reference, and " in words
    assert words.endswith("have more missing values than before.")
    assert "Find out why" in to_plain_text(say_next_step(results["both"]))


def test_a_window_without_values_is_described_by_its_missing_values(results):
    result = results["gone"]
    assert to_plain_text(say_headline(result)).startswith("The missing values have changed: ")
    assert "nothing can be said of its values" in to_plain_text(say_what_stayed(result))


def test_one_column_with_fewer_missing_values(results):
    features = [
        dataclasses.replace(feature, missing_reference=0.5, missing_window=0.1, adjusted_missing_p_value=p)
        for feature, p in zip(results["gaps"].features, (1e-9, 1.0, 1.0, 1.0, 1.0), strict=True)
    ]
    result = dataclasses.replace(results["gaps"], features=tuple(features))
    assert (
        to_plain_text(say_headline(result))
        == "The missing values have changed: temperature has fewer missing values than before."
    )
    assert to_plain_text(say_next_step(result)).startswith("Find out why temperature is missing less often")


def test_changes_without_a_column_to_name(results):
    features = tuple(
        dataclasses.replace(feature, adjusted_p_value=1.0, adjusted_missing_p_value=1.0)
        for feature in results["both"].features
    )
    words = to_plain_text(say_headline(dataclasses.replace(results["both"], features=features)))
    assert "no single column stands out" in words
    assert "in other places or combinations" in words


def test_how_sure(results):
    assert "fewer than 1 in a million" in to_plain_text(say_how_sure(results["drift"]))
    assert "turn up by chance in about" in to_plain_text(say_how_sure(results["none"]))
    assert to_plain_text(say_how_sure(results["undetermined"])) == results["undetermined"].values.reason


def test_in_what_the_values_differ(results):
    words = to_plain_text(say_what_differs(results["drift"]))
    assert "how two columns go together" in words.split("No clear change")[0]


def test_headline_and_summary_agree(results):
    for result in results.values():
        first = result.summary().splitlines()[0]
        starts = {True: "DRIFT: ", False: "No drift ", None: "UNDETERMINED: "}
        assert first.startswith(starts[result.drift])
        words = to_plain_text(say_headline(result))
        changed = ("The data have changed", "The missing values have changed")
        assert words.startswith(changed) == bool(result.drift)


def test_names_beyond_the_third_are_counted():
    assert to_plain_text(join_names(["a", "b", "c"])) == "a, b and c"
    assert to_plain_text(join_names(["a", "b", "c", "d", "e"])) == "a, b, c and 2 more columns"
