"""Tables of the pages on what was measured, from the files that the benchmarks write to ``benchmarks/results``.

Below each table stands the file, when it was committed, and whether code that it measures has changed since.
"""

import csv
import re
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks.record import Recorded, read_runs

from docs._tools.figures import markdown
from docs._tools.provenance import describe, describe_commit

Row = dict[str, str]

LEVELS = ("0.05", "0.01")


def read(path: Path) -> list[Row]:
    """Rows of a CSV file, by the names of its columns."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def mean(rows: Iterable[Row], column: str) -> float:
    """Mean of a column, weighted by the trials of each row where they are given; empty cells are left out."""
    cells = [(float(row[column]), float(row.get("trials") or 1)) for row in rows if row[column]]
    return sum(value * weight for value, weight in cells) / sum(weight for _, weight in cells)


def tables(folder: Path) -> dict[str, str]:
    """All tables, and what benchmarks printed, by the names under which pages include them."""
    made = {name: maker(folder) for name, (_, maker) in TABLES.items()} | calibration(folder)
    files = {name: file for name, (file, _) in TABLES.items()}
    shown = {
        name: f"{text}\n*From {describe(folder / files.get(name, 'calibration.csv'))}.*\n"
        for name, text in made.items()
    }
    return shown | transcripts(folder)


def transcripts(folder: Path) -> dict[str, str]:
    """What benchmarks printed: ``run-fit`` holds all runs of fit.txt, ``run-service-size`` that with `--only size`."""
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.txt")):
        runs = read_runs(path)
        found[f"run-{path.stem}"] = "\n".join(map(_shown, runs))
        found |= {f"run-{path.stem}-{part}": _shown(run) for run in runs if (part := _part(run.command))}
    return found


def _shown(run: Recorded) -> str:
    block = f"```text\n$ {run.command}\n{run.output}\n```\n"
    return f"{block}\n*Printed by {describe_commit(run.commit, run.day)}.*\n"


def _part(command: str) -> str:
    words = shlex.split(command)
    return re.sub(r"\W+", "-", words[words.index("--only") + 1]) if "--only" in words else ""


def calibration(folder: Path) -> dict[str, str]:
    """False alarms of null cases, and of cases in which only the missing cells or only the values change."""
    rows = read(folder / "calibration.csv")
    null = [row for row in rows if row["case"].startswith("null")]
    changed = [row for row in rows if not row["case"].startswith("null")]
    rates = [row for row in changed if row["case"].startswith(("rate", "limit"))]
    summary = ", ".join(f"{mean(null, f'verdict {level}'):.3f} at alpha {level}" for level in LEVELS)
    single = sorted(float(row["verdict 0.05"]) for row in null)
    missed = sum(row["bars"] != "ok" for row in rows)
    trials = " to ".join(
        sorted({row["trials"] for row in rows}, key=int)[:: max(len({row["trials"] for row in rows}) - 1, 1)]
    )
    sentence = (
        f"\nOver all {len(null)} null cases ({trials} trials each) the verdict alarms in {summary}; in single cases "
        f"from {single[0]:.3f} to {single[-1]:.3f} at 0.05. Bars missed, in this table and the next: {missed}.\n"
    )
    shown = [[row["case"], *(f"{float(row[f'verdict {level}']):.3f}" for level in LEVELS)] for row in null]
    pairs = ["case", "values, alpha 0.05", "missingness, alpha 0.05"]
    return {
        "calibration-null": markdown(["case", "alpha 0.05", "alpha 0.01"], shown) + sentence,
        "calibration-changed": markdown(pairs, [_pair(row) for row in changed]),
        "calibration-rates": markdown(pairs, [_pair(row) for row in rates]),
    }


def _pair(row: Row) -> list[str]:
    return [row["case"], *(f"{float(row[name]):.3f}" for name in ("values 0.05", "missingness 0.05"))]


def kept(folder: Path) -> str:
    """False alarms of the drawn cases that once failed."""
    rows = read(folder / "kept-nulls.csv")
    rows.sort(key=lambda row: -float(row["0.05"]))
    cells = [
        [
            row["case"].removeprefix("drawn "),
            row["description"],
            row["judged"],
            *(f"{float(row[a]):.3f}" for a in LEVELS),
        ]
        for row in rows
    ]
    rates = " and ".join(f"{mean(rows, level):.3f} at {level}" for level in LEVELS)
    trials = rows[0]["trials"]
    sentence = f"\nOver all {len(rows)} cases, of {trials} trials each, false alarms are {rates}.\n"
    return markdown(["seed", "case", "judged", *(f"alpha {level}" for level in LEVELS)], cells) + sentence


SIZES = re.compile(r"([\d,]+) against ([\d,]+) rows x (\d+)")
"""Rows of both sides and columns, in the description of a drawn case."""


def drawn(folder: Path) -> str:
    """False alarms of drawn cases, all together and by what they are like; then those that are furthest off."""
    rows = [row for row in read(folder / "drawn-nulls.csv") if row["phase"] == "drawn"]
    groups: dict[str, Callable[[Row], bool]] = {
        "all": lambda _: True,
        "the verdict, nothing changed": lambda row: row["judged"] == "verdict",
        "`values`, other cells are missing": lambda row: row["judged"] == "values",
        "up to 10 columns": lambda row: _sizes(row)[2] <= 10,
        "11 to 60 columns": lambda row: 10 < _sizes(row)[2] <= 60,
        "more than 60 columns": lambda row: _sizes(row)[2] > 60,
        "fewer than 300 rows on a side": lambda row: min(_sizes(row)[:2]) < 300,
        "300 to 3,000": lambda row: 300 <= min(_sizes(row)[:2]) < 3_000,
        "3,000 and more": lambda row: min(_sizes(row)[:2]) >= 3_000,
    }
    cells = []
    for name, belongs in groups.items():
        some = [row for row in rows if belongs(row)]
        if some:
            rates = (f"{mean(some, level):.3f}" for level in LEVELS)
            cells.append([name, str(len(some)), f"{_trials(some):,}", *rates])
    return markdown(["cases", "number", "trials", *(f"alpha {level}" for level in LEVELS)], cells)


def fixed(folder: Path) -> str:
    """False alarms of tables that alarmed far too often once."""
    rows = [row for row in read(folder / "table-nulls.csv") if row["phase"] == "table"]
    cells = [[row["case"], row["judged"], row["trials"], *(f"{float(row[a]):.3f}" for a in LEVELS)] for row in rows]
    return markdown(["case", "judged", "trials", *(f"alpha {level}" for level in LEVELS)], cells)


def drawn_again(folder: Path) -> str:
    """The worst tenth of the drawn cases, with fresh trials; what alarms most often comes first."""
    some = [row for row in read(folder / "drawn-nulls.csv") if row["phase"] == "again"]
    some.sort(key=lambda row: (-float(row["0.05"]), row["case"]))
    cells = [
        [row["case"].removeprefix("drawn "), row["description"], row["judged"], row["trials"], row["0.05"], row["0.01"]]
        for row in some
    ]
    return markdown(["seed", "case", "judged", "trials", *(f"alpha {level}" for level in LEVELS)], cells)


def _sizes(row: Row) -> tuple[int, int, int]:
    found = SIZES.match(row["description"])
    assert found is not None
    m, n, columns = (int(part.replace(",", "")) for part in found.groups())
    return m, n, columns


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
            "" if window == "changed" else "changed" if place >= changed else "as before",
            *(f"{mean(part, name):.3f}" for name in names),
        ]
        for place, (window, part) in enumerate(parts.items())
        if part
    ]
    return markdown(["window", "P(y given x)", *names], cells)


def concept_drawn(folder: Path) -> str:
    """Alarms of the test of the concept in drawn cases, by how the other columns moved."""
    rows = read(folder / "concept-drawn.csv")
    cells = []
    for move in ("all", *sorted({row["move"] for row in rows})):
        some = [row for row in rows if move in ("all", row["move"])]
        trials, determined = (sum(int(row[name]) for row in some) for name in ("trials", "determined"))
        shares = (f"{sum(int(row[level]) for row in some) / max(determined, 1):.3f}" for level in LEVELS)
        cells.append([move, str(len(some)), f"{trials:,}", f"{trials - determined:,}", *shares])
    return markdown(["x", "cases", "trials", "undetermined", *(f"alpha {level}" for level in LEVELS)], cells)


def peers(folder: Path) -> str:
    """Inputs that libraries answered rightly, wrongly, and with an error, of twelve awkward ones."""
    rows = read(folder / "peers-conformance.csv")
    names = "method", "right", "wrong", "error"
    return markdown(names, [[row[name] for name in names] for row in rows])


def large_real(folder: Path) -> str:
    """False alarms of references drawn from real sets, all windows of a set together."""
    rows = read(folder / "large-real.csv")
    cells = []
    for case in dict.fromkeys(row["case"] for row in rows):
        same = [row for row in rows if row["case"] == case and row["gaps"] == "same gaps"]
        other = [row for row in rows if row["case"] == case and row["gaps"] != "same gaps"]
        windows = f"{_trials(same)} and {_trials(other)}"
        rates = (mean(same, "verdict 0.05"), mean(same, "verdict 0.01"), mean(other, "values 0.05"))
        cells.append([case.removeprefix("real "), windows, *(f"{rate:.3f}" for rate in rates)])
    header = ["set", "windows", "same gaps: verdict, alpha 0.05", "0.01", "no or more gaps: values, 0.05"]
    return markdown(header, cells)


def _trials(rows: Iterable[Row]) -> int:
    return sum(int(row["trials"]) for row in rows)


def peers_speed(folder: Path) -> str:
    """Processor seconds and memory of gapdrift by itself, with its present code."""
    names = "rows", "processor seconds", "peak MiB"
    rows = read(folder / "peers-ours-speed.csv")
    return markdown(names, [[f"{int(row['rows']):,}", row[names[1]], row[names[2]]] for row in rows])


def peers_verdicts(folder: Path) -> str:
    """Alarms of gapdrift by itself, with its present code."""
    rows = read(folder / "peers-ours-verdicts.csv")
    parts = "alarms", "values", "missingness"
    cells = [
        [
            SCENARIOS[row["scenario"]],
            f"{float(row['missing']):.0%}{' mixed' if row['table'] == 'mixed' else ''}",
            *(f"{int(row[part]) / int(row['trials']):.2f}" for part in parts),
        ]
        for row in sorted(rows, key=lambda row: list(SCENARIOS).index(row["scenario"]))
    ]
    return markdown(["what happens", "missing", "verdict", "values alone", "missingness alone"], cells)


SCENARIOS = {
    "none": "nothing",
    "mean": "a mean moves",
    "dependence": "a correlation falls",
    "gaps": "a missing rate doubles",
    "both": "a mean moves and a missing rate doubles",
}
"""What happens in the windows of the benchmark of peers, in words."""

METHODS = {
    "gapdrift": "gapdrift",
    "MMD": "MMD",
    "energy": "energy distance",
    "boosted trees": "boosted trees",
    "KS": "KS",
}
"""Columns of the tables of drawn drifts, and how pages call them."""


def lines(folder: Path) -> str:
    """Drifts that means and correlations do not show, found by gapdrift and by rivals."""
    rows = read(folder / "lines-drifts.csv")
    cells = [
        [row["description"], *(f"{float(row[name]):.2f}" for name in METHODS), f"{float(row['named falsely']):.2f}"]
        for row in rows
    ]
    return markdown(["drift", *METHODS.values(), "gapdrift names an untouched column"], cells)


def families(folder: Path) -> str:
    """Drawn drifts found by gapdrift and by rivals, the mean of each family and of all."""
    rows = [row for row in read(folder / "drawn-drifts.csv") if row["case"] == f"{row['family']} {_seed(row)}"]
    names = list(dict.fromkeys(row["family"] for row in rows))
    by_family = {name: [row for row in rows if row["family"] == name] for name in names}
    found = {name: [mean(some, method) for method in METHODS] for name, some in by_family.items()}
    found["all families"] = [sum(column) / len(names) for column in zip(*found.values(), strict=True)]
    cells = [[name, *(f"{share:.2f}" for share in shares)] for name, shares in found.items()]
    trials = f"\n{len(rows)} drifts, {_trials(rows):,} windows.\n"
    return markdown(["family", *METHODS.values()], cells) + trials


def _seed(row: Row) -> str:
    return row["case"].rsplit(" ", 1)[-1]


def naming(folder: Path) -> str:
    """How often an untouched column is named beside one that moved."""
    rows = read(folder / "naming-drifts.csv")
    return markdown(
        ["drift", "trials", "found", "an untouched column is named"],
        [[row["case"], row["trials"], row["gapdrift"], row["named falsely"]] for row in rows],
    )


def concept_large(folder: Path) -> str:
    """Alarms of the test of the concept with 5,000 rows, by whether it changed."""
    rows = [row for row in read(folder / "concept-5000.csv") if row["case"] != "all cases"]
    changed = set(list(WINDOWS)[list(WINDOWS).index("slopes") :])
    cells = []
    for case in dict.fromkeys(row["case"] for row in rows):
        for title, part in (("as before", False), ("changed", True)):
            chosen = [row for row in rows if row["case"] == case and (row["window"] in changed) == part]
            if chosen:
                shares = (f"{mean(chosen, name):.3f}" for name in ("concept", "ks", "loss"))
                cells.append([case, title, str(_trials(chosen)), *shares])
    return markdown(["case", "P(y given x)", "windows", "concept", "ks", "loss"], cells)


def delays(folder: Path) -> str:
    """Delays of a monitor that decides window by window."""
    rows = read(folder / "monitor-delay.csv")
    return _pivot(rows, lambda row: row["case"].removeprefix("delay "), "drift kind")


def car_loans(folder: Path) -> str:
    """Alarms of a monitor on the car loans; in brackets the columns that are named."""
    rows = [row | {"value": f"{row['value']} {_named(row)}".strip()} for row in read(folder / "monitor-car.csv")]
    return _pivot(rows, lambda row: row["case"].removeprefix("car loans, "), "car loans", errors=False)


def _named(row: Row) -> str:
    missed = " **(missed)**" if row["bar"] == "MISSED" else ""
    return (f"({row['error']})" if row["error"] else "") + missed


def _pivot(rows: list[Row], key: Callable[[Row], str], title: str, errors: bool = True) -> str:
    """A row for each case and a column for each figure; standard errors in brackets."""
    figures = list(dict.fromkeys(row["figure"] for row in rows))
    found = {
        (key(row), row["figure"]): row["value"] + (f" ({row['error']})" if errors and row["error"] else "")
        for row in rows
    }
    cases = dict.fromkeys(map(key, rows))
    return markdown([title, *figures], [[case, *(found.get((case, name), "") for name in figures)] for case in cases])


def sequential(name: str, title: str, prefix: str) -> Callable[[Path], str]:
    """Maker of the table of one part of the benchmark of sequential monitors."""

    def make(folder: Path) -> str:
        rows = read(folder / f"sequential-{name}.csv")
        marked = [row | {"value": row["value"] + (" **missed**" if row["bar"] == "MISSED" else "")} for row in rows]
        return _pivot(marked, lambda row: row["case"].removeprefix(prefix).strip(), title)

    return make


BATCHES = {
    "beijing": "Beijing, weeks of hourly air quality",
    "air": "Rome, weeks",
    "weather": "Australia, months",
    "ar 0.5": "rows that depend on the one before, 0.5",
    "ar 0.9": "rows that depend on the one before, 0.9",
    "shifts": "random shifts of batches",
    "day": "season of a day",
    "year": "season of a year",
}
"""Sources of the benchmark of batches, in words."""


def batches(folder: Path) -> str:
    """False alarms and faults found with batches in random order, beside rivals."""
    rows = [row for row in read(folder / "time.csv") if row["cell"].removesuffix(" gaps") in BATCHES]
    return _batch_table(rows, lambda row: f"{_source(row['cell'])}, {row['batches']} batches")


def _source(cell: str) -> str:
    return BATCHES[cell.removesuffix(" gaps")] + (", 20 % missing" if cell.endswith(" gaps") else "")


def batches_in_order(folder: Path) -> str:
    """The same in the order of time: the windows come after the batches."""
    rows = [row for row in read(folder / "time.csv") if row["cell"].endswith(" in order")]
    return _batch_table(rows, lambda row: f"{_place(row['cell'])}, {row['batches']} batches and those after them")


def _place(cell: str) -> str:
    place, _, season = cell.removesuffix(" in order").partition(" by ")
    return BATCHES[place] + (", `season`" if season else "")


def _batch_table(rows: list[Row], name: Callable[[Row], str]) -> str:
    faults = "decoupled", "shifted", "missing"
    found = {(name(row), row["window"]): row for row in rows}
    cells = []
    for case in dict.fromkeys(map(name, rows)):
        calm = found[case, "untouched"]
        shown = [f"{float(found[case, fault]['alarms']):.2f} ({_rivals(found[case, fault])})" for fault in faults]
        first = re.findall(r"first \d windows ([\d.]+)", calm["others"])
        soon = f" (first three: {float(first[0]):.2f})" if first else ""
        cells.append([case, calm["windows"], f"{float(calm['alarms']):.2f}{soon}", *shown])
    return markdown(["batches", "windows", "untouched", "decoupled", "shifted", "missing tripled"], cells)


def _rivals(row: Row) -> str:
    return ", ".join(
        f"{float(share):.2f}" for share in re.findall(r"(?:NannyML|popmon|Hotelling) ([\d.]+)", row["others"])
    )


def dependent_rows(folder: Path) -> str:
    """Independent rows given as batches, and dependent rows given with their times."""
    rows = [row for row in read(folder / "time.csv") if row["cell"].startswith(("independent", "panes"))]
    names = "cell", "window", "windows", "alarms", "others"
    return markdown(names, [[row[name] for name in names] for row in rows])


def planned_changes(folder: Path) -> str:
    """How often changes are found that `sensitivity` plans for."""
    rows = [row for row in read(folder / "time.csv") if row["cell"].startswith("sensitivity ")]
    cells = [[row["cell"].removeprefix("sensitivity "), row["windows"], row["alarms"], row["others"]] for row in rows]
    return markdown(["kind", "windows", "found", "planned"], cells)


TABLES: dict[str, tuple[str, Callable[[Path], str]]] = {
    "large": ("large.csv", large),
    "large-real": ("large-real.csv", large_real),
    "power": ("power.csv", power),
    "kept": ("kept-nulls.csv", kept),
    "drawn": ("drawn-nulls.csv", drawn),
    "drawn-again": ("drawn-nulls.csv", drawn_again),
    "fixed": ("table-nulls.csv", fixed),
    "families": ("drawn-drifts.csv", families),
    "lines": ("lines-drifts.csv", lines),
    "naming": ("naming-drifts.csv", naming),
    "distance": ("distance.csv", distance),
    "monitor": ("monitor.csv", monitor),
    "monitor-delay": ("monitor-delay.csv", delays),
    "monitor-car": ("monitor-car.csv", car_loans),
    "sequential-length": ("sequential-length.csv", sequential("length", "`false_alarm_every`", "run length")),
    "sequential-detector": ("sequential-detector.csv", sequential("detector", "`false_alarm_every`", "detector")),
    "sequential-dependent": ("sequential-dependent.csv", sequential("dependent", "correlation", "dependent")),
    "sequential-batches": ("sequential-batches.csv", sequential("batches", "batches, `false_alarm_every`", "batches")),
    "sequential-delay": ("sequential-delay.csv", sequential("delay", "method", "delay")),
    "concept": ("concept.csv", concept),
    "concept-drawn": ("concept-drawn.csv", concept_drawn),
    "concept-5000": ("concept-5000.csv", concept_large),
    "time-sensitivity": ("time.csv", planned_changes),
    "time": ("time.csv", batches),
    "time-order": ("time.csv", batches_in_order),
    "time-dependent": ("time.csv", dependent_rows),
    "peers-ours-speed": ("peers-ours-speed.csv", peers_speed),
    "peers-ours-verdicts": ("peers-ours-verdicts.csv", peers_verdicts),
    "peers-summary": ("peers-conformance.csv", peers),
}
"""Tables of a single file: the file, and what makes the table from the folder of results."""
