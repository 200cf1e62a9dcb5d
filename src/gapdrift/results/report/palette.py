"""Colours of the reports, light and dark; `tests/results/report/test_palette.py` checks their contrast."""

from functools import partial

__all__ = ["DARK", "HEAT_STEPS", "LIGHT", "contrast", "heat_colours", "theme_css"]

Palette = dict[str, str]

# Blue and orange can be told apart with every kind of colour blindness.
COLOURS = {
    "page": ("#f6f7f9", "#10151c"),
    "card": ("#ffffff", "#18202a"),
    "ink": ("#18212d", "#e7ecf2"),
    "muted": ("#556071", "#a4b0bf"),
    "line": ("#dde2e9", "#2d3846"),
    "link": ("#1a5fa0", "#86bdf5"),
    "focus": ("#0b62c4", "#8fc4ff"),
    "reference": ("#2470b3", "#67aef0"),
    "window": ("#c2500a", "#ff9b57"),
    "drift": ("#a83206", "#ffb489"),
    "drift-tint": ("#fdeee5", "#3a2318"),
    "none": ("#14693d", "#8adfae"),
    "none-tint": ("#e4f5ea", "#143325"),
    "small": ("#7a5200", "#f2cf7d"),
    "small-tint": ("#fdf3d8", "#352b12"),
    "undetermined": ("#4b5563", "#c3ccd7"),
    "undetermined-tint": ("#e9edf2", "#28313d"),
    "heat": ("#54389c", "#b7a0f7"),
}
"""Each colour in the light and in the dark theme."""

LIGHT: Palette = {name: light for name, (light, _) in COLOURS.items()}
DARK: Palette = {name: dark for name, (_, dark) in COLOURS.items()}

HEAT_STEPS = 10
"""Number of heat colours, not counting that of 0."""


def contrast(one: str, two: str) -> float:
    """Contrast ratio of two colours, as defined by WCAG 2: from 1 to 21."""
    light, dark = sorted((_luminance(one), _luminance(two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def heat_colours(palette: Palette) -> list[tuple[str, str]]:
    """Background and text colour of each heat step; the text is black or white, whichever has more contrast."""
    backgrounds = [_mix(palette["card"], palette["heat"], step / HEAT_STEPS) for step in range(HEAT_STEPS + 1)]
    return [(back, max(("#000000", "#ffffff"), key=partial(contrast, back))) for back in backgrounds]


def theme_css() -> str:
    """CSS of both themes: light in print, otherwise as the system or the reader chooses."""
    light, dark = _declare(LIGHT), _declare(DARK)
    return (
        f":root{{color-scheme:light;{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n"
        f"@media screen{{:root[data-theme=dark]{{color-scheme:dark;{dark}}}}}\n"
        + "".join(f".h{step}{{background:var(--h{step});color:var(--i{step})}}\n" for step in range(HEAT_STEPS + 1))
    )


def _declare(palette: Palette) -> str:
    colours = "".join(f"--{name}:{colour};" for name, colour in palette.items())
    heat = "".join(f"--h{step}:{back};--i{step}:{ink};" for step, (back, ink) in enumerate(heat_colours(palette)))
    return colours + heat


def _channels(colour: str) -> list[int]:
    return [int(colour[place : place + 2], 16) for place in (1, 3, 5)]


def _mix(one: str, two: str, share: float) -> str:
    pairs = zip(_channels(one), _channels(two), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def _luminance(colour: str) -> float:
    shares = [channel / 255.0 for channel in _channels(colour)]
    red, green, blue = (s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
