import dataclasses

from gapdrift.results.report.ranking import alarms, compares_gaps, missing_cells, rank_features, rank_gaps, state

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
    assert {kind: state(results[kind].to_dict()) for kind in STATES} == STATES


def test_sides_that_alarm(results):
    told = {kind: alarms(results[kind].to_dict()) for kind in ("drift", "gaps", "both", "gone", "mdlfwf")}
    assert told == {
        "drift": ["values"],
        "gaps": ["gaps"],
        "both": ["values", "gaps"],
        "gone": ["gaps"],
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
    record = dataclasses.replace(results["drift"], features=features).to_dict()
    ranked = [feature["name"] for feature in rank_features(record)]
    assert ranked == ["far", "near, yet surer", "more gaps", "gaps", "nearly", "still"]
    assert [feature["name"] for feature in rank_gaps(record)][:2] == ["more gaps", "gaps"]
    before, after = missing_cells(record)
    assert abs(before - 0.1) < 1e-12
    assert abs(after - 0.3) < 1e-12


def test_a_detector_without_a_test_of_gaps(results):
    assert not compares_gaps(results["mdlfwf"].to_dict())
    assert compares_gaps(results["one column"].to_dict())
    assert missing_cells(results["undetermined"].to_dict()) is None
