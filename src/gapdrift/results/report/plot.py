"""Charts of a result, drawn with matplotlib (extra ``plot``)."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gapdrift._text import install_hint
from gapdrift.errors import GapdriftError, ParameterError
from gapdrift.results.report.palette import LIGHT
from gapdrift.results.report.ranking import (
    has_changed_missingness,
    has_changed_values,
    rank_by_missingness,
    rank_features,
)
from gapdrift.results.result import DriftResult, FeatureFinding, Histogram

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_feature", "draw_features"]

REFERENCE, WINDOW, QUIET = LIGHT["reference"], LIGHT["window"], "#9aa3ae"
MAX_FEATURES = 20

TITLES = {True: "Drift", False: "No drift found", None: "Undetermined"}


def draw_features(result: DriftResult) -> "Figure":
    """Figure of all columns: how much the values and the shares of missing cells changed.

    Returns
    -------
    figure : matplotlib Figure
        At most 20 columns, in the order of the report; those with an adjusted p-value below alpha are coloured.
    """
    is_tested = any(feature.tested for feature in result.features)
    ranked = rank_features(result) if is_tested else rank_by_missingness(result)
    # Charts count positions from the bottom.
    features = ranked[:MAX_FEATURES][::-1]

    def draw(figure: "Figure") -> None:
        values, missing = figure.subplots(1, 2, sharey=True)
        _draw_effects(values, features, result.alpha)
        _draw_missing(missing, features, result.alpha)
        values.set_yticks(range(len(features)), [_label(feature.name) for feature in features])
        figure.suptitle(TITLES[result.drift])

    return _make_figure((9.0, 1.6 + 0.35 * len(features)), draw)


def draw_feature(result: DriftResult, name: str) -> "Figure":
    """Figure of one column: its distribution in the reference and in the window."""
    features = {feature.name: feature for feature in result.features}
    if name not in features:
        known = ", ".join(map(repr, features)) or "none: the result is undetermined"
        raise ParameterError(f"feature is {name!r}, expected one of {known}.")
    feature = features[name]
    if feature.histogram is None:
        raise ParameterError(f"There is no distribution of {name!r}: it has no values, or the detector keeps none.")
    histogram = feature.histogram

    def draw(figure: "Figure") -> None:
        axes = figure.subplots()
        _draw_histogram(axes, histogram)
        missing = f"missing {feature.missing_reference:.0%} -> {feature.missing_window:.0%}"
        axes.set(title=f"{_label(name)} ({missing})", ylabel="share of observed cells", xlabel=_label(name))
        axes.legend()

    return _make_figure((7.0, 4.0), draw)


def _make_figure(size: tuple[float, float], draw: "Callable[[Figure], None]") -> "Figure":
    try:
        from gapdrift.results.report.chart import Chart  # noqa: PLC0415
    except ImportError as error:
        raise GapdriftError(f"Charts need matplotlib: {install_hint('plot')}.") from error
    return Chart(size, draw)


def _draw_effects(axes: "Axes", features: Sequence[FeatureFinding], alpha: float) -> None:
    for position, feature in enumerate(features):
        if feature.tested:
            colour = WINDOW if has_changed_values(feature, alpha) else QUIET
            axes.barh(position, feature.effect_size, color=colour)
    axes.set(title="values", xlabel="effect size")


def _draw_missing(axes: "Axes", features: Sequence[FeatureFinding], alpha: float) -> None:
    for position, feature in enumerate(features):
        shares = feature.missing_reference, feature.missing_window
        colour = WINDOW if has_changed_missingness(feature, alpha) else QUIET
        axes.plot(shares, (position, position), color=colour)
        axes.plot(shares[0], position, "o", color=REFERENCE, label=None if position else "reference")
        axes.plot(shares[1], position, "D", color=WINDOW, label=None if position else "window")
    axes.set(title="missing cells", xlabel="share", xlim=(-0.03, 1.03))
    if features:
        axes.legend()


def _label(name: str, most: int = 40) -> str:
    """Name for a chart, not taken for a formula, and shortened if it is long."""
    short = name if len(name) <= most else f"{name[: most - 3]}..."
    return short.replace("$", r"\$")


def _draw_histogram(axes: "Axes", histogram: Histogram) -> None:
    sides = (("reference", histogram.reference, REFERENCE), ("window", histogram.window, WINDOW))
    if histogram.labels:
        for shift, (side, shares, colour) in zip((-0.2, 0.2), sides, strict=True):
            places = [index + shift for index in range(len(shares))]
            axes.bar(places, shares, width=0.4, color=colour, label=side)
        labels = [_label(label) for label in histogram.labels]
        axes.set_xticks(range(len(labels)), labels, rotation=30, ha="right")
        return
    for side, shares, colour in sides:
        axes.stairs(shares, histogram.edges, color=colour, fill=True, alpha=0.35)
        axes.stairs(shares, histogram.edges, color=colour, label=side)
