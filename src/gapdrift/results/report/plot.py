"""Charts of a result's record, drawn with matplotlib (extra ``plot``)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gapdrift.errors import GapdriftError, ParameterError
from gapdrift.results.report.palette import LIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_feature", "draw_features"]

Record = Mapping[str, Any]

REFERENCE, WINDOW, QUIET = LIGHT["reference"], LIGHT["window"], "#9aa3ae"
MAX_FEATURES = 20


def draw_features(record: Record) -> "Figure":
    """Figure of all columns: how far the values moved, and how the share of missing cells moved.

    Parameters
    ----------
    record : mapping
        As `DriftResult.to_dict` returns it.

    Returns
    -------
    figure : matplotlib Figure
        The columns that moved most come first, at most 20; those named at the level alpha are coloured.
    """
    features = sorted(record["features"], key=_rank)[:MAX_FEATURES][::-1]
    figure = _figure((9.0, 1.6 + 0.35 * len(features)))
    values, gaps = figure.subplots(1, 2, sharey=True)
    positions = range(len(features))
    _draw_values(values, features, record["alpha"])
    _draw_gaps(gaps, features, record["alpha"])
    values.set_yticks(positions, [_label(feature["name"]) for feature in features])
    figure.suptitle({True: "Drift", False: "No drift found", None: "Undetermined"}[record["drift"]])
    return figure


def draw_feature(record: Record, name: str) -> "Figure":
    """Figure of one column: its distribution in the reference and in the window.

    Parameters
    ----------
    record : mapping
        As `DriftResult.to_dict` returns it.
    name : str

    Returns
    -------
    figure : matplotlib Figure
    """
    features = {feature["name"]: feature for feature in record["features"]}
    if name not in features:
        known = ", ".join(map(repr, features)) or "none: the result is undetermined"
        raise ParameterError(f"feature is {name!r}, expected one of {known}.")
    feature = features[name]
    if feature["histogram"] is None:
        raise ParameterError(f"No distribution of {name!r} was kept: it has no values, or MDLFWF counted it.")
    figure = _figure((7.0, 4.0))
    axes = figure.subplots()
    _draw_histogram(axes, feature["histogram"])
    gaps = f"missing {feature['missing_reference']:.0%} -> {feature['missing_window']:.0%}"
    axes.set(title=f"{_label(name)} ({gaps})", ylabel="share of observed cells", xlabel=_label(name))
    axes.legend()
    return figure


def _figure(size: tuple[float, float]) -> "Figure":
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError as error:
        raise GapdriftError("Charts need matplotlib: pip install 'gapdrift[plot]'.") from error
    return Figure(figsize=size, layout="constrained")


def _rank(feature: Record) -> tuple[float, float]:
    """Smallest p-value first; columns that were not tested last, by the change of their gaps."""
    tested = [p for p in (feature["adjusted_p_value"], feature["adjusted_missing_p_value"]) if p is not None]
    return min(tested, default=2.0), -abs(feature["missing_window"] - feature["missing_reference"])


def _draw_values(axes: "Axes", features: list[Any], alpha: float) -> None:
    effects = [feature["effect_size"] or 0.0 for feature in features]
    colours = [WINDOW if _named(feature["adjusted_p_value"], alpha) else QUIET for feature in features]
    axes.barh(range(len(features)), effects, color=colours)
    axes.set(title="values", xlabel="effect size")


def _draw_gaps(axes: "Axes", features: list[Any], alpha: float) -> None:
    for position, feature in enumerate(features):
        shares = feature["missing_reference"], feature["missing_window"]
        named = _named(feature["adjusted_missing_p_value"], alpha)
        axes.plot(shares, (position, position), color=WINDOW if named else QUIET)
        axes.plot(shares[0], position, "o", color=REFERENCE, label=None if position else "reference")
        axes.plot(shares[1], position, "D", color=WINDOW, label=None if position else "window")
    axes.set(title="missing cells", xlabel="share", xlim=(-0.03, 1.03))
    if features:
        axes.legend()


def _label(name: str, most: int = 40) -> str:
    """Name as plain text for a chart: not as a formula, and cut where it is long."""
    short = name if len(name) <= most else f"{name[: most - 3]}..."
    return short.replace("$", r"\$")


def _named(p_value: float | None, alpha: float) -> bool:
    return p_value is not None and p_value < alpha


def _draw_histogram(axes: "Axes", histogram: Record) -> None:
    sides = (("reference", REFERENCE), ("window", WINDOW))
    if histogram["labels"]:
        for shift, (side, colour) in zip((-0.2, 0.2), sides, strict=True):
            places = [index + shift for index in range(len(histogram["labels"]))]
            axes.bar(places, histogram[side], width=0.4, color=colour, label=side)
        labels = [_label(label) for label in histogram["labels"]]
        axes.set_xticks(range(len(labels)), labels, rotation=30, ha="right")
        return
    for side, colour in sides:
        axes.stairs(histogram[side], histogram["edges"], color=colour, fill=True, alpha=0.35)
        axes.stairs(histogram[side], histogram["edges"], color=colour, label=side)
