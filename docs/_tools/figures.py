"""The pictures of the pages on ideas, drawn by gapdrift and matplotlib when the site is built; seeds are fixed.

``python -m docs._tools.figures FOLDER`` draws all of them into a folder, with the tables that stand beside them.
"""

import csv
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from scipy.stats import binom, ks_2samp

import gapdrift as gd
from gapdrift.cli.demo import SCENARIOS, run_demo
from gapdrift.counting.functions import STEPS, fit_functions, wave
from gapdrift.detectors.mdlfwf.membership import gaussian, triangular
from gapdrift.inference.mean_weights import compare_mean_weights
from gapdrift.inference.pearson import pearson
from gapdrift.tables.encoding import encode
from gapdrift.tables.schema import learn_schema

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.patches import Rectangle

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
BLUE, ORANGE, GREY, GREEN = "#0b5fa5", "#d9641e", "#8a94a0", "#2e8b57"
STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "legend.frameon": False,
    "svg.hashsalt": "gapdrift",
    "figure.constrained_layout.use": True,
}
Cells = Sequence[Sequence[Any]]


def markdown(header: Sequence[str], rows: Cells) -> str:
    """A table as Markdown; numbers such as 1e-9 are not divided at the end of a line."""
    lines = [header, ["---"] * len(header), *rows]
    text = "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"
    return re.sub(r"(?<=\de)-(?=\d)", "\N{NON-BREAKING HYPHEN}", text)


def draw_all(folder: Path) -> None:
    """Draw all pictures into a folder, with the tables that belong to them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in FIGURES.items():
        with plt.style.context(STYLE):
            figure, tables = draw()
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
            plt.close("all")
        for table, text in tables.items():
            (folder / f"{table}.md").write_text(text, encoding="utf-8")


Drawn = tuple[Any, Mapping[str, str]]


def demonstration() -> Drawn:
    """Alarms of the usual ways to treat missing values, as `gapdrift demo` counts them."""
    found = list(run_demo())
    counts = np.array([method.alarms for method in found])
    right = np.array([method.right for method in found])
    figure, axes = plt.subplots(figsize=(7.5, 3.3))
    for row, method in enumerate(found):
        for column, count in enumerate(method.alarms):
            colour = BLUE if right[row, column] else ORANGE
            axes.add_patch(Rectangle((column + 0.04, row + 0.12), 0.92, 0.76, color="#eef1f4"))
            axes.add_patch(Rectangle((column + 0.04, row + 0.12), 0.92 * count / 20, 0.76, color=colour, alpha=0.85))
            axes.text(
                column + 0.5,
                row + 0.5,
                f"{count}" + ("" if right[row, column] else "  wrong"),
                color="white" if count >= 12 else "black",
                ha="center",
                va="center",
            )
    axes.set(xlim=(0, 3), ylim=(len(found), 0), xticks=np.arange(3) + 0.5, yticks=np.arange(len(found)) + 0.5)
    axes.set_xticklabels(SCENARIOS)
    axes.set_yticklabels([method.method for method in found])
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("alarms in 20 windows, at a rate of false alarms of 5 %")
    cells = [
        [
            method.method,
            *(f"{n}" + ("" if ok else " **wrong**") for n, ok in zip(method.alarms, method.right, strict=True)),
        ]
        for method in found
    ]
    assert counts.shape == right.shape
    return figure, {"demonstration": markdown(["", *SCENARIOS], cells)}


def filled() -> Drawn:
    """What filling with means does to two columns that go together, as more is missing."""
    rng = np.random.default_rng(0)
    figure, panels = plt.subplots(1, 3, figsize=(8.5, 3.0), sharex=True, sharey=True)
    values = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], 400)
    rows = []
    for axes, rate in zip(panels, (0.0, 0.2, 0.4), strict=True):
        table = gd.datasets.hide_mcar(values, rate, np.random.default_rng(1))
        missing = np.isnan(table)
        mean = np.nanmean(table, axis=0)
        full = np.where(missing, mean, table)
        made_up = missing.any(axis=1)
        axes.scatter(*full[~made_up].T, s=6, color=BLUE, label="observed rows")
        axes.scatter(*full[made_up].T, s=6, color=ORANGE, label="filled rows")
        correlation, spread = np.corrcoef(full.T)[0, 1], full[:, 1].std()
        axes.set_title(f"{rate:.0%} missing: correlation {correlation:.2f}")
        rows.append([f"{rate:.0%}", f"{mean[1]:.2f}", f"{spread:.2f}", f"{correlation:.2f}"])
    panels[1].legend(loc="lower right", markerscale=2)
    header = ["missing", "mean of the second column", "its standard deviation", "correlation"]
    return figure, {"filled": markdown(header, rows)}


def selected() -> Drawn:
    """How dropping incomplete rows moves the mean when missing cells depend on another column."""
    rng = np.random.default_rng(2)
    values = rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], 4_000)
    table = gd.datasets.hide_mar(values, 0.4, rng, driver=0, strength=2.0)
    kept = ~np.isnan(table[:, 1])
    figure, axes = plt.subplots(figsize=(6.5, 2.8))
    bins = np.linspace(-4, 4, 50).tolist()
    axes.hist(values[:, 1], bins, color="#cdd9e5", label=f"all rows: mean {values[:, 1].mean():.2f}")
    axes.hist(
        table[kept, 1],
        bins,
        histtype="step",
        color=ORANGE,
        lw=1.6,
        label=f"complete rows: mean {table[kept, 1].mean():.2f}",
    )
    axes.legend()
    axes.set(yticks=[], xlabel="second column")
    axes.set_title("cells of the second column are missing more often where the first one is high")
    reference, window = rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], (2, 2_000))
    hidden = gd.datasets.hide_mar(window, 0.4, rng, driver=0, strength=2.0)
    dropped = hidden[~np.isnan(hidden).any(axis=1)]
    ks = ks_2samp(reference[:, 1], dropped[:, 1]).pvalue
    ours = gd.compare(gd.datasets.hide_mcar(reference, 0.1, rng), hidden)
    assert ours.missingness is not None
    rows = [
        ["KS of the second column, incomplete rows dropped", f"{ks:.1e}", "drift: wrong"],
        [
            "gapdrift: values",
            f"{ours.values.p_value:.2g}",
            "no drift" if ours.values.p_value > 0.05 else "drift: wrong",
        ],
        ["gapdrift: missing values", f"{ours.missingness.p_value:.1e}", "drift: right"],
    ]
    return figure, {"selected": markdown(["test", "p-value", "says"], rows)}


def memberships() -> Drawn:
    """Overlapping fuzzy distances, and the weights that follow from them."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 2.9))
    distances, error = np.array([2.0, 2.6, 4.2]), 0.6
    width = error  # half the base of a triangle, in the paper's Fig. 6
    for distance, colour, name in zip(distances, (BLUE, ORANGE, GREY), ("nearest", "second", "third"), strict=True):
        left.fill([distance - width, distance, distance + width], [0, 1, 0], color=colour, alpha=0.25)
        left.plot([distance - width, distance, distance + width], [0, 1, 0], color=colour, label=name)
    left.set(xlabel="distance to the bin", ylabel="degree", title="distances are known up to an error")
    left.legend()
    apart = np.linspace(0, 5, 200)
    both = np.column_stack([np.zeros_like(apart), apart])
    right.plot(apart / error, triangular(both, error)[:, 1], color=BLUE, label="triangular")
    right.plot(apart / error, gaussian(both, error)[:, 1], color=ORANGE, label="Gaussian")
    right.set(
        xlabel="how much farther the bin is, in errors",
        ylabel="degree of membership",
        title="degree by which a row belongs to a bin",
    )
    right.legend()
    weights = triangular(distances[None], error)[0]
    shares = weights / weights.sum()
    header, row = ["bin", "nearest", "second", "third"], ["share of the row", *(f"{share:.2f}" for share in shares)]
    return figure, {"memberships": markdown(header, [row])}


def chi_square() -> Drawn:
    """P-values without drift: Pearson's test and Wald's of the same divided rows."""
    rng = np.random.default_rng(3)
    centres = rng.normal(size=(10, 2)) * 1.2
    found: dict[str, list[float]] = {"Pearson's chi-square": [], "Wald": []}
    variances = []
    for _ in range(400):
        points = rng.normal(size=(1_000, 2))
        distances = np.linalg.norm(points[:, None] - centres, axis=2)
        degrees = gaussian(distances, 0.15)
        weights = degrees / degrees.sum(axis=1, keepdims=True)
        halves = weights[:500], weights[500:]
        counts = [half.sum(axis=0) for half in halves]
        variances.append(counts[0])
        found["Pearson's chi-square"].append(pearson(*counts).p_value)
        found["Wald"].append(_wald(*halves))
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 2.9))
    counts_seen = np.array(variances)
    shares = counts_seen.mean(axis=0) / 500
    assumed, seen = 500 * shares * (1 - shares), counts_seen.var(axis=0)
    places = np.arange(len(shares))
    left.bar(places - 0.2, assumed, 0.4, color=GREY, label="as Pearson's test assumes")
    left.bar(places + 0.2, seen, 0.4, color=BLUE, label="as it is")
    left.set(title="variance of the count of each bin", xlabel="bin", xticks=places)
    left.legend()
    bins = np.linspace(0, 1, 21).tolist()
    for (name, values), colour in zip(found.items(), (GREY, BLUE), strict=True):
        right.hist(values, bins, histtype="step", lw=1.6, color=colour, label=name)
    right.axhline(20, color="#333", lw=0.8, ls=":")
    right.set(title="p-values of 400 windows without drift", xlabel="p-value (should be even)")
    right.legend()
    rows = [
        [name, f"{np.mean(np.array(values) < 0.05):.3f}", f"{np.median(values):.2f}"] for name, values in found.items()
    ]
    ratio = f"{(seen.sum() / assumed.sum()):.2f}"
    table = markdown(["test", "false alarms at 0.05", "median p-value (0.50 is right)"], rows)
    return figure, {
        "chi-square": table,
        "chi-square-ratio": f"The variance of these counts is {ratio} times what Pearson's test assumes.\n",
    }


def _wald(reference: Any, window: Any) -> float:
    one, two = ((half.sum(axis=0), half.T @ half) for half in (reference, window))
    return compare_mean_weights(one, two, len(reference), len(window)).p_value


def scores() -> Drawn:
    """A skewed column with an outlier, and its normal scores."""
    rng = np.random.default_rng(4)
    column = np.append(rng.lognormal(0, 1.0, 999), 400.0)
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(9, 2.8))
    left.hist(column, 60, color=BLUE)
    left.set(title="income, say: one of 400", yticks=[])
    middle.plot(np.sort(column), scores_of(np.sort(column)), color=ORANGE)
    middle.set(xscale="log", title="u: normal score of its rank", xlabel="value")
    right.hist(scores_of(column), 30, color=BLUE)
    right.set(title="scores", yticks=[])
    return figure, {}


def scores_of(column: Any) -> Any:
    """Scores u of the numbers of a column, in standard deviations."""
    table = column[:, None]
    schema = learn_schema(table)
    axis = fit_functions(encode(table, schema), schema).axes[0]
    return axis.steps[axis.codes_of(column), 0] / STEPS


def bent() -> Drawn:
    """A column that follows the size of another one: no correlation of u, but one of w with u."""
    rng = np.random.default_rng(6)
    first = rng.normal(size=1_000)
    second = np.abs(first) + 0.4 * rng.normal(size=1_000)
    u, v = scores_of(first), scores_of(second)
    w = wave(STEPS * u) / STEPS
    figure, panels = plt.subplots(1, 2, figsize=(8.5, 2.9), sharey=True)
    for axes, values, name in zip(panels, (u, w), ("u", "w"), strict=True):
        axes.plot(values, v, "o", ms=2.5, color=BLUE)
        correlation = np.corrcoef(values, v)[0, 1]
        axes.set(title=f"correlation {correlation:.2f}", xlabel=f"{name} of the first column")
    panels[0].set_ylabel("u of the second column")
    return figure, {}


def mechanisms() -> Drawn:
    """The three ways in which values are missing, and what holds when the rate doubles."""
    rng = np.random.default_rng(7)
    hide: dict[str, Callable[..., Any]] = {
        "MCAR": gd.datasets.hide_mcar,
        "MAR": gd.datasets.hide_mar,
        "MNAR": gd.datasets.hide_mnar,
    }
    notes = "by chance", "where the first column is high", "where the value itself is high"
    figure, panels = plt.subplots(1, 3, figsize=(9, 3.1), sharex=True, sharey=True)
    covariance = [[1, 0.7], [0.7, 1]]
    shown = rng.multivariate_normal([0, 0], covariance, 500)
    rows = []
    for axes, (name, function), note in zip(panels, hide.items(), notes, strict=True):
        missing = np.isnan(function(shown, [0.0, 0.4], np.random.default_rng(8)))[:, 1]
        axes.scatter(*shown[~missing].T, s=7, color=BLUE, label="observed")
        axes.scatter(*shown[missing].T, s=9, facecolors="none", edgecolors=ORANGE, lw=0.7, label="missing")
        axes.set(title=f"{name}: missing {note}", xlabel="first column")
        axes.title.set_fontsize(8.5)
        alarms = np.zeros(2)
        for _ in range(40):
            reference, window = (
                function(rng.multivariate_normal([0, 0], covariance, 500), rates, rng)
                for rates in ([0.0, 0.2], [0.0, 0.4])
            )
            result = gd.compare(reference, window)
            assert result.missingness is not None
            alarms += result.values.p_value < 0.05, result.missingness.p_value < 0.05
        rows.append([name, *(f"{count:.0f} of 40" for count in alarms)])
    panels[0].set_ylabel("second column")
    panels[0].legend(loc="lower right", fontsize=8)
    header = ["mechanism", "values: alarms, all false", "missing values: alarms, all right"]
    return figure, {"mechanisms": markdown(header, rows)}


def batches() -> Drawn:
    """Days that differ from each other: tested as rows, and as batches."""
    rng = np.random.default_rng(9)
    level = rng.normal(size=42)
    day = np.repeat(np.arange(42), 100)
    x = level[day] + rng.normal(size=4_200)
    history = {"day": day[:3_000], "x": x[:3_000], "y": rng.normal(size=3_000)}
    by_rows = gd.DriftDetector(random_state=0, ignore=["day"]).fit(history)
    by_days = gd.DriftDetector(random_state=0).fit(history, batches="day")
    x[4_100:] += 5.0
    p_rows, p_days = [], []
    for number in range(30, 42):
        window = {"x": x[day == number], "y": rng.normal(size=100)}
        p_rows.append(by_rows.test(window).p_value)
        p_days.append(by_days.test(window).p_value)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.0))
    means = np.array([x[day == number].mean() for number in range(42)])
    left.bar(np.arange(30), means[:30], color="#9fb8cf", label="days of the reference")
    left.bar(np.arange(30, 41), means[30:41], color=BLUE, label="days that are tested")
    left.bar([41], means[41:], color=ORANGE, label="a day with a fault")
    left.set(xlabel="day", title="mean of x on each day")
    left.legend(fontsize=8)
    places = np.arange(30, 42)
    right.semilogy(places, np.maximum(p_rows, 1e-12), "s", color=GREY, label="rows taken as independent")
    right.semilogy(places, p_days, "o", color=BLUE, label="compared with the usual variation")
    right.axhline(0.05, color="#333", lw=0.8, ls=":")
    right.set(xlabel="day", title="p-value (1e-12 where smaller)")
    right.set_ylim(1e-16, 9.0)
    right.legend(fontsize=8, loc="lower center", ncols=2)
    rows = [
        [
            "rows taken as independent",
            f"{sum(p < 0.05 for p in p_rows[:-1])} of 11",
            "yes" if p_rows[-1] < 0.05 else "no",
        ],
        ["days as batches", f"{sum(p < 0.05 for p in p_days[:-1])} of 11", "yes" if p_days[-1] < 0.05 else "no"],
    ]
    return figure, {
        "batches": markdown(["reference", "ordinary days called drift, at 0.05", "the fault is found"], rows)
    }


def false_alarms() -> Drawn:
    """Rates of false alarms of all null cases of the calibration, beside what chance allows."""
    with (RESULTS / "calibration.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["case"].startswith("null")]
    figure, panels = plt.subplots(1, 2, figsize=(9, 2.9), sharey=True)
    for axes, alpha in zip(panels, (0.05, 0.01), strict=True):
        found = np.sort([float(row[f"verdict {alpha}"]) for row in rows])
        trials = np.array([int(row["trials"]) for row in rows])
        low, high = (binom.ppf(share, trials.min(), alpha) / trials.min() for share in (0.0005, 0.9995))
        places = np.arange(1, len(found) + 1)
        axes.axhspan(low, high, color="#e3edf6", label="999 of 1,000 exact tests lie here")
        axes.axhline(alpha, color="#333", lw=0.8, ls=":")
        axes.plot(places, found, "o", ms=3.5, color=BLUE, label="null cases, sorted")
        axes.set(title=f"alpha {alpha}", xlabel="case")
    panels[0].set_ylabel("share of windows that alarm")
    panels[1].legend(loc="upper right", fontsize=8)
    return figure, {}


def flow() -> Drawn:
    """The architecture: data flow in one direction, from a table to a report."""
    figure, axes = plt.subplots(figsize=(9.2, 3.6))
    steps = [
        ("any table\nCSV, pandas, ...", "tables, files"),
        ("matrix\nNaN = missing", "tables"),
        ("codes of cells", "counting"),
        ("u, w, o and\ntheir products", "counting"),
        ("evidence\n= sums", "counting"),
        ("tests against\nthe reference", "inference"),
        ("findings,\nDriftResult", "results"),
        ("report, history,\nservice", "results, streaming"),
    ]
    for place, (text, folder) in enumerate(steps):
        x, y = (place % 4) * 2.4, -2.0 * (place // 4)
        colour = "#e3edf6" if "evidence" not in text else "#fbe3d4"
        axes.text(x, y, text, ha="center", va="center", bbox={"boxstyle": "round,pad=0.5", "fc": colour, "ec": BLUE})
        axes.text(x, y - 0.62, folder, ha="center", va="center", fontsize=8, color="#555", family="monospace")
        if place % 4 != 3:
            axes.annotate("", (x + 1.65, y), (x + 0.75, y), arrowprops={"arrowstyle": "->"})
    axes.annotate(
        "",
        (-0.2, -1.55),
        (7.2, -0.85),
        arrowprops={"arrowstyle": "->", "connectionstyle": "arc3,rad=0.0", "color": GREY},
    )
    axes.text(
        0.0,
        -3.1,
        "count(A ++ B) = count(A) + count(B): chunks, panes, workers and days each count, and their evidence is added",
        fontsize=8.5,
    )
    axes.set(xlim=(-1.2, 8.5), ylim=(-3.4, 0.8))
    axes.axis("off")
    return figure, {}


FIGURES: dict[str, Callable[[], Drawn]] = {
    "demonstration": demonstration,
    "filled": filled,
    "selected": selected,
    "memberships": memberships,
    "chi-square": chi_square,
    "scores": scores,
    "bent": bent,
    "mechanisms": mechanisms,
    "batches": batches,
    "false-alarms": false_alarms,
    "flow": flow,
}

if __name__ == "__main__":
    draw_all(Path(sys.argv[1]))
