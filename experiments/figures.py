"""The paper's figures, drawn from the tables of a run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from experiments.catalogue import path_of
from experiments.competitors import COMPETITORS, OURS
from experiments.configurations import CONFIGURATIONS
from experiments.detection import KINDS, SEVERITIES
from experiments.distributions import DISTRIBUTIONS
from experiments.running import read_rows
from experiments.tables import PUBLISHED, Ratios, all_ratios, by_severity, ratios_of

__all__ = ["FIGURES", "draw"]

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
    """Shares of the features of pairs in the learned distance, by distribution."""
    rows = [row for row in read_rows(path_of("experiment1", protocol, folder)) if row["what"] == "importance"]
    figure, axes = _panels(2, 3)
    for axis, kind in zip(axes.ravel(), DISTRIBUTIONS, strict=False):
        shares = {row["metric"]: float(row["mean"]) for row in rows if row["distribution"] == kind}
        axis.bar(range(len(shares)), list(shares.values()), color="#0072b2")
        axis.set_xticks(range(len(shares)), list(shares), rotation=90, fontsize=7)
        axis.set(title=kind, ylabel="share of the gain")
    axes.ravel()[-1].axis("off")
    return figure


def figure_8(protocol: str, folder: Path) -> Any:
    """Detection ratios of the configurations, by kind of drift and on average."""
    found = ratios_of("experiment2", protocol, folder)
    lines = {f"{number} {name}": found[number] for number, name in CONFIGURATIONS.items()}
    published = {
        row["method"]: [float(row[f"severity_{s}"]) for s in SEVERITIES]
        for row in read_rows(PUBLISHED / "table_3_ablation.csv")
    }
    return _curves(lines, published)


def figure_9(protocol: str, folder: Path) -> Any:
    """Detection ratios of all methods, complete and with missing values."""
    found = all_ratios(protocol, folder)
    names = (*COMPETITORS, "MDL-FWF-Tri-TopQ", OURS)
    figure, axes = _panels(len(names), len(KINDS) + 1)
    for line, method in zip(axes, names, strict=True):
        for axis, kind in zip(line, (*KINDS, "average"), strict=True):
            for ratios, style, label in zip(found[method], ("-", "--"), ("complete", "missing"), strict=True):
                axis.plot(SEVERITIES, _values(ratios, kind), style, label=label)
            axis.set(title=f"{method}, {kind}", ylim=(-0.03, 1.03))
            axis.title.set_fontsize(8)
    axes[0, 0].legend(fontsize=7)
    return figure


def _curves(lines: dict[str, Ratios], published: dict[str, list[float]]) -> Any:
    figure, axes = _panels(2, 3)
    for axis, kind in zip(axes.ravel(), (*KINDS, "average"), strict=True):
        for (name, ratios), style in zip(lines.items(), STYLES, strict=False):
            axis.plot(SEVERITIES, _values(ratios, kind), linestyle=style, label=name)
        axis.set(title=kind, xlabel="severity", ylabel="detection ratio", ylim=(-0.03, 1.03))
    for number, printed in enumerate(published.values()):
        axes.ravel()[-1].plot(SEVERITIES, printed, "x", color=f"C{number}", markersize=4)
    axes.ravel()[-1].set_title("average (crosses: published)")
    axes.ravel()[0].legend(fontsize=7)
    return figure


def _values(ratios: Ratios, kind: str) -> list[float]:
    return by_severity(ratios) if kind == "average" else [ratios[kind, severity] for severity in SEVERITIES]


def _panels(rows: int, columns: int) -> tuple[Any, Any]:
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(4.2 * columns, 3.2 * rows), layout="constrained")
    return figure, np.asarray(figure.subplots(rows, columns))


FIGURES: dict[str, Callable[[str, Path], Any]] = {"7": figure_7, "8": figure_8, "9": figure_9}
