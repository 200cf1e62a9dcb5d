import pytest

from gapdrift.results.report.assets import read_asset
from gapdrift.results.report.palette import DARK, LIGHT, contrast, heat_colours, theme_css

TEXT, GRAPHICS = 4.5, 3.0
"""Least contrast by WCAG 2, level AA."""

GROUNDS = ("page", "card")
VERDICTS = ("drift", "none", "small", "undetermined")

both_themes = pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])


def test_contrast_of_known_pairs():
    assert contrast("#ffffff", "#ffffff") == 1.0
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
    assert contrast("#000000", "#ff0000") == pytest.approx(5.25, abs=0.005)


@both_themes
def test_text_is_readable(palette):
    pairs = [(ink, ground) for ink in ("ink", "muted", "link") for ground in GROUNDS]
    pairs += [(verdict, ground) for verdict in VERDICTS for ground in (f"{verdict}-tint", *GROUNDS)]
    pairs += [(ink, f"{verdict}-tint") for verdict in VERDICTS for ink in ("ink", "muted")]
    pairs += [("card", "ink")]
    low = [pair for pair in pairs if contrast(*(palette[name] for name in pair)) < TEXT]
    assert low == []


@both_themes
def test_marks_are_visible(palette):
    pairs = [(mark, ground) for mark in ("reference", "window", "focus") for ground in GROUNDS]
    low = [pair for pair in pairs if contrast(*(palette[name] for name in pair)) < GRAPHICS]
    assert low == []


@both_themes
def test_shares_on_the_map_are_readable(palette):
    colours = heat_colours(palette)
    assert all(contrast(ground, ink) >= TEXT for ground, ink in colours)
    steps = [contrast(ground, palette["card"]) for ground, _ in colours]
    assert steps == sorted(steps)


def test_marks_of_the_notebook_are_visible_on_white_and_on_black():
    style = read_asset("notebook.css")
    for side in ("reference", "window"):
        colour = style.split(f"--gd-{side}: ")[1][:7]
        assert contrast(colour, "#ffffff") >= GRAPHICS
        assert contrast(colour, "#111111") >= GRAPHICS


def test_both_themes_have_the_same_names_and_reach_the_page():
    assert LIGHT.keys() == DARK.keys()
    css = theme_css()
    assert all(f"--{name}:{colour};" in css for palette in (LIGHT, DARK) for name, colour in palette.items())
    used = set(read_asset("style.css").split("var(--")[1:])
    named = {rest.split(")")[0] for rest in used}
    assert named <= {*LIGHT, "tone", "tint"}
