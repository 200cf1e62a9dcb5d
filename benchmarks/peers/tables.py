"""Tables of what the journal holds: rows for the CSV files, and the same as markdown for the docs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers.conformance import CONTROL, INPUTS, Input, judge
from benchmarks.peers.measuring import conformance_task, speed_task, verdict_task
from benchmarks.peers.methods import METHODS, Method
from benchmarks.peers.scenarios import SCENARIOS, Case, cases
from experiments.journal import Journal

__all__ = [
    "Alarms",
    "Table",
    "alarms",
    "conformance_table",
    "error_table",
    "markdown",
    "method_table",
    "put_between_marks",
    "speed_table",
    "verdict_table",
    "verdict_tables",
]


_JUDGEMENTS = ("right", "wrong", "error", "numbers only")


@dataclass(frozen=True)
class Table:
    """A header and rows of words, with a name that is also that of its file and of its marks in the docs."""

    name: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Alarms:
    """Answers of a method in one situation.

    Parameters
    ----------
    trials : int
        Trials that were answered.
    drift, values, missingness : int
        How many of them alarmed: the verdict, and for gapdrift its two parts.
    errors : tuple of str
        What the other trials said.
    """

    trials: int
    drift: int
    values: int
    missingness: int
    errors: tuple[str, ...]

    def share(self, asked: int) -> str:
        """Share of alarms, with the number of trials where it is not what was asked for.

        `error` or `numbers only` where no trial was answered, empty where none was made.
        """
        if self.trials:
            return f"{self.drift / self.trials:.2f}" + (f" of {self.trials}" if self.trials < asked else "")
        if any(error.startswith("NumbersOnly") for error in self.errors):
            return "numbers only"
        return "error" if self.errors else ""


def alarms(journal: Journal, method: Method, case: Case, trials: int, alpha: float = 0.05) -> Alarms:
    """What the journal holds of a method in a situation, of the first trials."""
    tasks = [verdict_task(method, case, seed) for seed in range(trials)]
    found = [journal.get(task) for task in tasks if task in journal]
    good = [answer for answer in found if answer["error"] is None]

    def below(part: str) -> int:
        p_values = [answer["details"].get(part) for answer in good]
        return sum(p is not None and p < alpha for p in p_values)

    errors = tuple(answer["error"] for answer in found if answer["error"] is not None)
    drift = sum(bool(answer["drift"]) for answer in good)
    return Alarms(len(good), drift, below("values"), below("missingness"), errors)


def method_table() -> Table:
    """What each row is."""
    rows = tuple(
        (method.title, "yes" if method.multivariate else "no", method.rule) for method in METHODS if not method.filled
    )
    return Table("methods", ("method", "multivariate", "alarm"), rows)


def speed_table(journal: Journal, sizes: Sequence[int]) -> Table:
    """Seconds, seconds of the processor and peak memory of each method at each size, and how many times ours."""
    rows = []
    for method in METHODS:
        for size in sizes:
            if speed_task(method, size) in journal:
                answer = journal.get(speed_task(method, size))
                rows.append(
                    (method.title, f"{size}", *_timing(answer), _times(journal, answer, size), answer["error"] or "")
                )
    header = ("method", "rows", "seconds", "processor seconds", "peak MiB", "times ours", "error")
    return Table("speed", header, tuple(rows))


def _timing(answer: dict[str, Any]) -> tuple[str, ...]:
    if answer["error"] is not None:
        given_up = answer["error"].startswith("timeout")
        return ("", f"> {answer['cpu_seconds']:.3g}" if given_up else "", "")
    return (f"{answer['seconds']:.3g}", f"{answer['cpu_seconds']:.3g}", f"{answer['peak_mib']:.0f}")


def _times(journal: Journal, answer: dict[str, Any], size: int) -> str:
    ours = speed_task(METHODS[0], size)
    if answer["error"] is not None or ours not in journal or journal.get(ours)["error"] is not None:
        return ""
    return f"{answer['cpu_seconds'] / journal.get(ours)['cpu_seconds']:.3g}"


def verdict_table(journal: Journal, trials: int) -> Table:
    """All situations of all methods, one row each."""
    rows = []
    for method in METHODS:
        for case in cases():
            found = alarms(journal, method, case, trials)
            if found.trials or found.errors:
                what = (method.title, case.kind, case.scenario, f"{case.rate:g}")
                parts = (str(found.values), str(found.missingness)) if method is METHODS[0] else ("", "")
                counts = (str(found.trials), str(found.drift), *parts, str(len(found.errors)))
                rows.append((*what, *counts, found.errors[0] if found.errors else ""))
    header = ("method", "table", "scenario", "missing", "trials", "alarms", "values", "missingness", "failed", "error")
    return Table("verdicts", header, tuple(rows))


def verdict_tables(journal: Journal, trials: int) -> list[Table]:
    """For each scenario the shares of alarms by missing rate; gapdrift's parts have rows of their own."""
    return [_scenario_table(journal, trials, scenario) for scenario in SCENARIOS]


def _scenario_table(journal: Journal, trials: int, scenario: str) -> Table:
    own = [case for case in cases() if case.scenario == scenario]
    header = ("method", *(f"{case.rate:.0%}" + (" mixed" if case.kind == "mixed" else "") for case in own))
    rows = []
    for method in METHODS:
        found = [alarms(journal, method, case, trials) for case in own]
        if any(one.trials or one.errors for one in found):
            rows.append((method.title, *(one.share(trials) for one in found)))
        if method is METHODS[0] and rows:
            for part in ("values", "missingness"):
                shares = [f"{getattr(one, part) / one.trials:.2f}" if one.trials else "" for one in found]
                rows.append((f"gapdrift: {part} alone", *shares))
    return Table(f"verdicts-{scenario}", header, tuple(rows))


def conformance_table(journal: Journal) -> Table:
    """One row for each method: the judgement of the control and each input, and how many of each there are."""
    rows = []
    for method in METHODS:
        said = [_judged(journal, method, case) for case in INPUTS]
        if any(said):
            counts = (str(said.count(word)) for word in _JUDGEMENTS)
            rows.append((method.title, *counts, _judged(journal, method, CONTROL), *said))
    header = ("method", *_JUDGEMENTS, f"control: {CONTROL.name}", *(case.name for case in INPUTS))
    return Table("conformance", header, tuple(rows))


def _judged(journal: Journal, method: Method, case: Input) -> str:
    found = _pair(journal, method, case)
    return judge(found[0], found[1], case.open_question) if found else ""


def _pair(journal: Journal, method: Method, case: Input) -> list[dict[str, Any]]:
    """Answers to the calm and the drifted window; none where one lacks."""
    tasks = [conformance_task(method, case, side) for side in ("calm", "drifted")]
    return [journal.get(task) for task in tasks] if all(task in journal for task in tasks) else []


def error_table(journal: Journal) -> Table:
    """What the methods say of the awkward inputs, each sentence once: errors, and warnings at wrong verdicts."""
    rows: dict[tuple[str, str], str] = {}
    for method in METHODS:
        for case in (CONTROL, *INPUTS):
            judged = _judged(journal, method, case)
            for answer in _pair(journal, method, case):
                error = [answer["error"]] if judged != "numbers only" and answer["error"] else []
                warned = [f"warning: {text}" for text in answer["warnings"]] if judged == "wrong" else []
                for text in error + warned:
                    rows.setdefault((method.title, text), case.name)
    return Table(
        "errors", ("method", "first at", "says"), tuple((title, at, text) for (title, text), at in rows.items())
    )


def markdown(table: Table) -> str:
    r"""The table in markdown; what would break a cell is escaped, and a table without rows says that it has none.

    Examples
    --------
    >>> print(markdown(Table("t", ("a", "b"), (("1", "x|y"),))))
    | a | b |
    |---|---|
    | 1 | x\|y |
    """
    if not table.rows:
        return "Not measured yet."
    lines = [_line(table.header), "|" + "---|" * len(table.header), *map(_line, table.rows)]
    return "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("<", "&lt;") for cell in cells) + " |"


def put_between_marks(path: Path, parts: dict[str, str]) -> None:
    """Replace what stands between the marks of each name in a page; the words around them stay.

    Raises
    ------
    ValueError
        If the page lacks the marks of a name.
    """
    text = path.read_text(encoding="utf-8")
    for name, part in parts.items():
        start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        if text.count(start) != 1 or text.count(end) != 1 or text.index(start) > text.index(end):
            raise ValueError(f"{path} must have the marks {start} and {end}, once each and in this order")
        before, after = text.split(start)[0], text.split(end)[1]
        text = f"{before}{start}\n{part}\n{end}{after}"
    draft = path.with_suffix(".part")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
