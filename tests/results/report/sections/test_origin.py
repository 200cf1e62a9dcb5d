import dataclasses

from tests.results.report.conftest import Page


def test_settings_are_shown(results):
    text = Page(results["small"].to_html()).section("origin")["text"].replace("\n", "")
    for words in ("detectorDriftDetector", "min_effect2", "random_state0", "ignorenone"):
        assert words in text


def test_a_result_made_by_hand_shows_its_alpha(results):
    bare = dataclasses.replace(results["drift"], settings={})
    assert "alpha0.05" in Page(bare.to_html()).section("origin")["text"]
