"""Tables of the pages on what was measured, from the CSV files that the benchmarks write."""

import csv
from collections.abc import Iterable
from pathlib import Path

from docs._tools.figures import markdown

Row = dict[str, str]


def read(path: Path) -> list[Row]:
    """Rows of a CSV file, by the names of its columns."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def mean(rows: Iterable[Row], column: str) -> float:
    """Mean of a column, weighted by the trials of each row where they are given; empty cells are left out."""
    cells = [(float(row[column]), float(row.get("trials") or 1)) for row in rows if row[column]]
    return sum(value * weight for value, weight in cells) / sum(weight for _, weight in cells)


def tables(folder: Path) -> dict[str, str]:
    """All tables, by the names under which pages include them."""
    return calibration(folder) | {
        "large": large(folder),
        "power": power(folder),
        "distance": distance(folder),
        "monitor": monitor(folder),
        "concept": concept(folder),
        "peers-summary": peers(folder),
    }


def calibration(folder: Path) -> dict[str, str]:
    """False alarms of null cases, and of cases in which only the missing cells or only the values change."""
    rows = read(folder / "calibration.csv")
    null = [row for row in rows if row["case"].startswith("null")]
    changed = [row for row in rows if not row["case"].startswith("null")]
    rates = [row for row in changed if row["case"].startswith(("rate", "limit"))]
    levels = ("0.05", "0.01")
    summary = ", ".join(f"{mean(null, f'verdict {level}'):.3f} at alpha {level}" for level in levels)
    single = sorted(float(row["verdict 0.05"]) for row in null)
    missed = sum(row["bars"] != "ok" for row in rows)
    trials = " to ".join(
        sorted({row["trials"] for row in rows}, key=int)[:: max(len({row["trials"] for row in rows}) - 1, 1)]
    )
    sentence = (
        f"\nOver all {len(null)} null cases ({trials} trials each) the verdict alarms in {summary}; in single cases "
        f"from {single[0]:.3f} to {single[-1]:.3f} at 0.05. Bars missed, in this table and the next: {missed}.\n"
    )
    shown = [[row["case"], *(f"{float(row[f'verdict {level}']):.3f}" for level in levels)] for row in null]
    pairs = ["case", "values, alpha 0.05", "missingness, alpha 0.05"]
    return {
        "calibration-null": markdown(["case", "alpha 0.05", "alpha 0.01"], shown) + sentence,
        "calibration-changed": markdown(pairs, [_pair(row) for row in changed]),
        "calibration-rates": markdown(pairs, [_pair(row) for row in rates]),
    }


def _pair(row: Row) -> list[str]:
    return [row["case"], *(f"{float(row[name]):.3f}" for name in ("values 0.05", "missingness 0.05"))]


def large(folder: Path) -> str:
    """False alarms of large references, by kind and window."""
    rows = read(folder / "large.csv")
    found = {(row["case"], row["rows"], row["gaps"]): row for row in rows}
    keys = list(dict.fromkeys((row["case"], row["rows"]) for row in rows))
    kinds = (
        ("same gaps", "verdict 0.05"),
        ("same gaps", "verdict 0.01"),
        ("no gaps", "values 0.05"),
        ("more gaps", "values 0.05"),
    )
    cells = [
        [case, f"{int(n):,}", *(f"{float(found[case, n, gaps][name]):.3f}" for gaps, name in kinds)]
        for case, n in keys
        if all((case, n, gaps) in found for gaps, _ in kinds)
    ]
    same = [row for row in rows if row["gaps"] == "same gaps"]
    header = [
        "kind",
        "window rows",
        "same gaps: verdict, alpha 0.05",
        "0.01",
        "no gaps: values, 0.05",
        "more gaps: values, 0.05",
    ]
    rates = (f"in {mean(same, f'verdict {level}'):.3f} at {level}" for level in ("0.05", "0.01"))
    sentence = f"\nOver all windows with the same gaps the verdict alarms {' and '.join(rates)}.\n"
    return markdown(header, cells) + sentence


def power(folder: Path) -> str:
    """Drift found, averaged over severities 1 and more."""
    rows = [row for row in read(folder / "power.csv") if float(row["severity"]) > 0]
    columns = "with gaps", "complete", "MMD complete"
    kinds = {
        kind: [row for row in rows if row["drift"] == kind] for kind in dict.fromkeys(row["drift"] for row in rows)
    }
    parts = kinds | {"average": rows}
    cells = [[name, *(f"{mean(part, column):.3f}" for column in columns)] for name, part in parts.items()]
    return markdown(["drift", "DriftDetector, with missing cells", "DriftDetector, complete", "MMD, complete"], cells)


def distance(folder: Path) -> str:
    """Errors of distances, as they are in the file."""
    rows = read(folder / "distance.csv")
    names = [name for name in rows[0] if name != "bar"]
    return markdown(names, [[row[name] for name in names] for row in rows])


def monitor(folder: Path) -> str:
    """Alarms of a monitor over those asked for, with their errors."""
    rows = [
        row
        for row in read(folder / "monitor.csv")
        if row["case"].startswith("rate") and row["figure"].startswith("alarms x")
    ]
    every = list(dict.fromkeys(row["figure"].removeprefix("alarms x ") for row in rows))
    found = {(row["case"], row["figure"].removeprefix("alarms x ")): f"{row['value']} ({row['error']})" for row in rows}
    cases = dict.fromkeys(row["case"] for row in rows)
    cells = [
        [*case.removeprefix("rate ").split(" "), *(found.get((case, number), "") for number in every)] for case in cases
    ]
    return markdown(["drift kind", "reference", *every], cells)


WINDOWS = {
    "nothing": "nothing changed",
    "x 0.5": "means of x moved by 0.5 standard deviations",
    "x 1": "means of x moved by 1",
    "x wider": "x scatters by half as much again",
    "x unrelated": "columns of x independent instead of correlated",
    "rates": "other missing rates of x",
    "labels": "labels missing at other values of x",
    "slopes": "slopes of two columns",
    "subgroup": "sign in a subgroup, a fifth of the rows",
    "flips": "a tenth of the labels exchanged",
    "level": "a constant added",
    "as before": "all windows in which P(y given x) is as before",
    "changed": "all windows in which it changed",
}
"""Windows of the benchmark of concepts, in words; from slopes to level, P(y given x) changes."""


def concept(folder: Path) -> str:
    """Alarms of the test of the concept, by what changed, over all cases."""
    rows = read(folder / "concept.csv")
    names = "concept", "ks", "loss"
    parts = {window: [row for row in rows if row["window"] == window] for window in WINDOWS}
    changed = list(WINDOWS).index("slopes")
    cells = [
        [
            WINDOWS[window],
            "" if window in ("as before", "changed") else "changed" if place >= changed else "as before",
            *(f"{mean(part, name):.3f}" for name in names),
        ]
        for place, (window, part) in enumerate(parts.items())
        if part
    ]
    return markdown(["window", "P(y given x)", *names], cells)


def peers(folder: Path) -> str:
    """Inputs that libraries answered rightly, wrongly, and with an error, of twelve awkward ones."""
    rows = read(folder / "peers-conformance.csv")
    names = "method", "right", "wrong", "error"
    return markdown(names, [[row[name] for name in names] for row in rows])
