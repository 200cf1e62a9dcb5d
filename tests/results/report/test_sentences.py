import dataclasses

import pytest

from gapdrift.results.report.sentences import certainty, headline, nature, next_step, other_side
from gapdrift.results.report.words import plain

HEADLINES = {
    "none": "No change found: the values and the gaps of the window look like those of the reference.",
    "small": "Hardly any change: the values differ, but by less than the limit set for an alarm.",
    "undetermined": "Nothing can be said yet: there is too little data.",
    "mdlfwf": "The data have changed: the values of the window differ from the reference.",
    "one column": "The data have changed: the values of price differ from the reference.",
}


@pytest.mark.parametrize("kind", HEADLINES)
def test_headlines(results, kind):
    assert plain(headline(results[kind].to_dict())) == HEADLINES[kind]


def test_moved_columns_are_named_in_the_headline(results):
    words = plain(headline(results["drift"].to_dict()))
    assert words.startswith("The data have changed: the values of ")
    assert "temperature" in words
    assert "humidity" in words
    assert "gaps" not in words


def test_gaps_alone_are_no_change_of_values(results):
    record = results["gaps"].to_dict()
    words = plain(headline(record))
    assert words.startswith("What is missing has changed: ")
    assert words.endswith(" and 2 more columns have more gaps than before.")
    assert plain(other_side(record)) == "The values themselves look as before."
    assert nature(record) == ()


def test_both_are_told_together(results):
    words = plain(headline(results["both"].to_dict()))
    assert "differ from the reference, and " in words
    assert words.endswith("have more gaps than before.")
    assert "Find out why" in plain(next_step(results["both"].to_dict()))


def test_a_window_without_values_is_told_by_its_gaps(results):
    record = results["gone"].to_dict()
    assert "missing" in plain(headline(record))
    assert "nothing can be said of its values" in plain(other_side(record))


def test_one_column_with_fewer_gaps(results):
    features = [
        dataclasses.replace(feature, missing_reference=0.5, missing_window=0.1, adjusted_missing_p_value=p)
        for feature, p in zip(results["gaps"].features, (1e-9, 1.0, 1.0, 1.0, 1.0), strict=True)
    ]
    record = dataclasses.replace(results["gaps"], features=tuple(features)).to_dict()
    assert plain(headline(record)) == "What is missing has changed: temperature has fewer gaps than before."
    assert plain(next_step(record)).startswith("Find out why temperature goes missing less often")


def test_what_moved_without_a_column_to_name(results):
    features = tuple(
        dataclasses.replace(feature, adjusted_p_value=1.0, adjusted_missing_p_value=1.0)
        for feature in results["both"].features
    )
    words = plain(headline(dataclasses.replace(results["both"], features=features).to_dict()))
    assert "no single column stands out" in words
    assert "in other places or combinations" in words


def test_how_sure(results):
    assert "fewer than 1 in a million" in plain(certainty(results["drift"].to_dict()))
    assert "turn up by chance in about" in plain(certainty(results["none"].to_dict()))
    assert plain(certainty(results["undetermined"].to_dict())) == results["undetermined"].values.reason


def test_in_what_the_values_differ(results):
    words = plain(nature(results["drift"].to_dict()))
    assert "spread and how columns go together" in words.split("No clear change")[0]


def test_headline_and_summary_agree(results):
    for result in results.values():
        first = result.summary().splitlines()[0]
        starts = {True: "DRIFT: ", False: "No drift ", None: "UNDETERMINED: "}
        assert first.startswith(starts[result.drift])
        words = plain(headline(result.to_dict()))
        changed = ("The data have changed", "What is missing has changed")
        assert words.startswith(changed) == bool(result.drift)
