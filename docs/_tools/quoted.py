"""Figures that sentences quote, from the files of results: ``{{ power_found }}`` in a page stands for one."""

import math
import re
from pathlib import Path

from benchmarks.record import read_runs

from docs._tools.results import mean, read


def quotes(folder: Path) -> dict[str, str]:
    """Figures by the names under which pages quote them."""
    return calibration(folder) | power(folder) | peers(folder) | service(folder) | time(folder)


def calibration(folder: Path) -> dict[str, str]:
    """Trials and command of the table of false alarms, and how far single rates scatter by chance."""
    rows = read(folder / "calibration.csv")
    trials = min(int(row["trials"]) for row in rows)
    command = f"python -m benchmarks.calibration --trials {trials} --seed {rows[0]['seed']}"
    return {
        "calibration_trials": f"{trials:,}",
        "calibration_command": f"`{command} --csv benchmarks/results/calibration.csv`",
        "calibration_scatter": f"{math.sqrt(0.05 * 0.95 / trials):.3f}",
    }


def power(folder: Path) -> dict[str, str]:
    """Averages of drift found over severities 1 and more, and the difference that missing cells make."""
    rows = [row for row in read(folder / "power.csv") if float(row["severity"]) > 0]
    found, complete, mmd = (mean(rows, name) for name in ("with gaps", "complete", "MMD complete"))
    away = sum(abs(float(row["with gaps"]) - float(row["complete"])) for row in rows) / len(rows)
    return {
        "power_found": f"{found:.3f}",
        "power_above": f"{found - mmd:.3f}",
        "power_above_bar": _reached(found - mmd >= 0.08),
        "power_complete": f"{complete:.3f}",
        "power_mmd": f"{mmd:.3f}",
        "power_away": f"{away:.3f}",
        "power_away_bar": _reached(away <= 0.03),
    }


def peers(folder: Path) -> dict[str, str]:
    """How many times our processor seconds the other libraries take, at 10,000 and at 100,000 rows."""
    times = {(row["method"], row["rows"]): row["times ours"] for row in read(folder / "peers-speed.csv")}
    ours = next(row for row in read(folder / "peers-speed.csv") if row["rows"] == "10000")
    names = {
        "domain": "nannyml: domain classifier",
        "reconstruction": "nannyml: data reconstruction",
        "deepchecks": "deepchecks: MultivariateDrift",
        "classifier": "alibi-detect: ClassifierDrift",
    }
    return {
        f"peers_{short}_{rows}": f"{float(times[name, rows]):.2g}"
        for short, name in names.items()
        for rows in ("10000", "100000")
    } | {"peers_mmd": f"{60 / float(ours['processor seconds']):,.0f}"}


def service(folder: Path) -> dict[str, str]:
    """The slowest page or call on each database, and the page of a monitor."""
    text = "\n".join(run.output for run in read_runs(folder / "service.txt"))
    medians = re.findall(r"(SQLite|PostgreSQL): (page|call): (.+?), median ms +([\d.]+) <", text)
    return {
        f"service_{what}_{database.lower()}": f"{max(values):.0f}"
        for database in ("SQLite", "PostgreSQL")
        for what, values in (
            ("slowest", [float(ms) for base, _, _, ms in medians if base == database]),
            (
                "monitor",
                [float(ms) for base, kind, name, ms in medians if (base, kind, name) == (database, "page", "monitor")],
            ),
        )
    }


def time(folder: Path) -> dict[str, str]:
    """How often untouched weeks and months in true order alarm."""
    rows = {(row["cell"], row["batches"], row["window"]): row for row in read(folder / "time.csv")}
    return {
        f"time_order_{name}": f"{float(rows[f'{name} in order', '20', 'untouched']['alarms']):.2f}"
        for name in ("beijing", "air", "weather")
    }


def _reached(reached: bool) -> str:
    return "reached" if reached else "**missed**"
