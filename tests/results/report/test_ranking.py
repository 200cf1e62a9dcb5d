import dataclasses

from gapdrift.results.report.ranking import (
    alarming_sides,
    compares_missingness,
    mean_missing,
    other_warnings,
    rank_by_missingness,
    rank_features,
    state,
)

STATES = {
    "drift": "drift",
    "gaps": "drift",
    "none": "none",
    "small": "small",
    "undetermined": "undetermined",
    "gone": "drift",
    "mdlfwf": "drift",
    "mdlfwf empty": "undetermined",
}


def test_states(results):
    assert {kind: state(results[kind]) for kind in STATES} == STATES


def test_sides_that_alarm(results):
    found = {kind: alarming_sides(results[kind]) for kind in ("drift", "gaps", "both", "gone", "mdlfwf")}
    assert found == {
        "drift": ["values"],
        "gaps": ["missingness"],
        "both": ["values", "missingness"],
        "gone": ["missingness"],
        "mdlfwf": ["values"],
    }


def test_order_of_the_columns(results):
    like = results["drift"].features[0]
    cases = {
        "still": (0.9, 1.0, 0.9, 0.1, 1.0),
        "nearly": (0.06, 0.3, 0.9, 0.1, 1.0),
        "gaps": (0.9, 1.0, 0.0, 0.5, 1e-9),
        "more gaps": (0.9, 1.0, 0.0, 0.9, 1e-9),
        "far": (1e-9, 1e-8, 0.8, 0.1, 1.0),
        "near, yet surer": (1e-30, 1e-29, 0.2, 0.1, 1.0),
    }
    features = tuple(
        dataclasses.replace(
            like,
            name=name,
            p_value=p_value,
            adjusted_p_value=adjusted,
            effect_size=effect,
            missing_reference=0.1,
            missing_window=missing,
            adjusted_missing_p_value=gap_p,
        )
        for name, (p_value, adjusted, effect, missing, gap_p) in cases.items()
    )
    result = dataclasses.replace(results["drift"], features=features)
    ranked = [feature.name for feature in rank_features(result)]
    assert ranked == ["far", "near, yet surer", "more gaps", "gaps", "nearly", "still"]
    assert [feature.name for feature in rank_by_missingness(result)][:2] == ["more gaps", "gaps"]
    before, after = mean_missing(result)
    assert abs(before - 0.1) < 1e-12
    assert abs(after - 0.3) < 1e-12


def test_a_detector_without_a_test_of_gaps(results):
    assert not compares_missingness(results["mdlfwf"])
    assert compares_missingness(results["one column"])
    assert mean_missing(results["undetermined"]) is None


def test_the_reason_of_the_verdict_is_no_warning_of_its_own(results):
    result = results["undetermined"]
    assert result.values.reason in result.warnings
    assert result.values.reason not in other_warnings(result)
    assert len(other_warnings(results["wide"])) == 1


def test_warnings_about_the_table_come_first_and_those_of_columns_are_joined(results):
    warnings = (
        "Column 'a' holds dates or times and was ignored.",
        'Column "it\'s" holds dates or times and was ignored.',
        "Column 'c' has 3 'x' (2).",
        "Reference: Column 'd' holds dates or times and was ignored.",
        "The reference is small.",
    )
    result = dataclasses.replace(results["none"], warnings=warnings)
    assert other_warnings(result) == [
        "The reference is small.",
        "Each of the columns 'a' and \"it's\" holds dates or times and was ignored.",
        *warnings[2:4],
    ]
    assert other_warnings(result, {"The reference is small.", *warnings[1:4]}) == [warnings[0]]
