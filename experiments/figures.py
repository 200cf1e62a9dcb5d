"""The paper's figures, drawn from the tables of a run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from experiments.catalogue import path_of
from experiments.competitors import COMPETITORS, OURS
from experiments.configurations import CONFIGURATIONS, WALD
from experiments.detection import KINDS, SEVERITIES
from experiments.distributions import DISTRIBUTIONS
from experiments.running import read_rows
from experiments.tables import PUBLISHED, Ratios, all_ratios, by_severity, ratios_of

__all__ = ["FIGURES", "draw"]

PAGE_WIDTH = 7.5
"""Width of a figure in inches, so that its letters can be read at the width of a page."""

AVERAGE = "average"
TOP_Q = ("MDL-FWF-Gau-TopQ", "MDL-FWF-Tri-TopQ")

STYLES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))


def draw(name: str, protocol: str, folder: Path) -> Path:
    """Draw one figure and return its file."""
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("Agg")
    figure = FIGURES[name](protocol, folder)
    path = folder / protocol / f"figure-{name}.svg"
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without a date and with fixed ids the same table gives the same file.
    with mpl.rc_context({"svg.hashsalt": "gapdrift"}):
        figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    return path


def figure_7(protocol: str, folder: Path) -> Any:
    """Shares of the features of pairs in the learned distance, largest first, with deviations between data sets."""
    rows = [row for row in read_rows(path_of("experiment1", protocol, folder)) if row["what"] == "importance"]
    figure, axes = _panels(3, 2, (PAGE_WIDTH, 8.5))
    for axis, kind in zip(axes.ravel(), DISTRIBUTIONS, strict=False):
        shares = [
            (row["metric"].replace("most_frequent", "mode"), float(row["mean"]), float(row["deviation"]))
            for row in rows
            if row["distribution"] == kind
        ]
        names, means, deviations = zip(*sorted(shares, key=lambda share: -share[1]), strict=True)
        places = range(len(names))
        axis.bar(places, means, yerr=deviations, color="#0072b2", ecolor="#444444", error_kw={"linewidth": 0.8})
        axis.set_xticks(places, names, rotation=90, fontsize=6)
        axis.set(title=kind, ylabel="share of the gain", ylim=(0, None))
    axes.ravel()[-1].axis("off")
    return figure


def figure_8(protocol: str, folder: Path) -> Any:
    """Detection ratios of the configurations and of Wald's test, by kind of drift and on average."""
    found = ratios_of("experiment2", protocol, folder)
    names = {number: f"{number} {name}" for number, name in CONFIGURATIONS.items()} | {WALD: WALD}
    lines = {name: found[number] for number, name in names.items() if number in found}
    published = {
        row["method"].replace(". ", " "): [float(row[f"severity_{s}"]) for s in SEVERITIES]
        for row in read_rows(PUBLISHED / "table_3_ablation.csv")
    }
    figure, axes = _panels(3, 2, (PAGE_WIDTH, 9.0))
    for axis, kind in zip(axes.ravel(), (*KINDS, AVERAGE), strict=True):
        _draw_lines(axis, {name: _values(ratios, kind) for name, ratios in lines.items()})
        axis.set(title=kind, xlabel="severity", ylabel="detection ratio")
    _draw_crosses(axes.ravel()[-1], list(lines), published)
    return _with_legend(figure, axes.ravel()[-1], columns=3)


def figure_9(protocol: str, folder: Path) -> Any:
    """Detection ratios of all methods on average over the kinds of drift: complete, and with missing values."""
    found = all_ratios(protocol, folder)
    names = [name for name in (*COMPETITORS, "MV Impute", *TOP_Q, WALD, OURS) if name in found]
    figure, axes = _panels(1, 2, (PAGE_WIDTH, 4.6))
    tables = ("table_4_complete", "table_5_missing")
    for axis, side, table, title in zip(axes.ravel(), (0, 1), tables, ("complete", "with missing values"), strict=True):
        _draw_lines(axis, {name: by_severity(found[name][side]) for name in names})
        printed = {
            row["method"].removeprefix("Complete ").removeprefix("Impute "): row
            for row in read_rows(PUBLISHED / f"{table}.csv")
        }
        printed["MV Impute"] = printed["MDL"]
        crosses = {name: [float(row[f"severity_{s}"]) for s in SEVERITIES] for name, row in printed.items()}
        _draw_crosses(axis, names, crosses)
        axis.set(title=title, xlabel="severity", ylabel="detection ratio")
    return _with_legend(figure, axes.ravel()[-1], columns=3)


def _draw_lines(axis: Any, lines: dict[str, list[float]]) -> None:
    for number, (name, values) in enumerate(lines.items()):
        style = STYLES[number % len(STYLES)]
        axis.plot(SEVERITIES, values, linestyle=style, color=f"C{number}", linewidth=1.3, label=name)
    axis.set_ylim(-0.03, 1.03)


def _draw_crosses(axis: Any, names: list[str], published: dict[str, list[float]]) -> None:
    """Add the paper's values, in the colour of the line of the same name."""
    for number, name in enumerate(names):
        if name in published:
            axis.plot(SEVERITIES, published[name], "x", color=f"C{number}", markersize=4)
    axis.plot([], [], "x", color="#444444", markersize=4, label="published")


def _with_legend(figure: Any, axis: Any, columns: int) -> Any:
    """Figure with one legend below all panels, where it covers nothing."""
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=8, frameon=False)
    return figure


def _values(ratios: Ratios, kind: str) -> list[float]:
    return by_severity(ratios) if kind == AVERAGE else [ratios[kind, severity] for severity in SEVERITIES]


def _panels(rows: int, columns: int, size: tuple[float, float]) -> tuple[Any, Any]:
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=size, layout="constrained")
    return figure, np.asarray(figure.subplots(rows, columns, squeeze=False))


FIGURES: dict[str, Callable[[str, Path], Any]] = {"7": figure_7, "8": figure_8, "9": figure_9}
