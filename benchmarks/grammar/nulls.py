"""Null cases: reference and window follow one law; or their values do and the missing cells do not.

`drawn(seed)` draws a case at random; `fixed()` has those that once went wrong, by name; `kept()` the seeds of drawn
ones that did.
"""

import csv
import zlib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.grammar.dependence import COMPONENTS, COPIES, DEPENDENCES, FOLDED, Dependence
from benchmarks.grammar.marginals import CONTINUOUS, KINDS, NOT_NUMBERS, SUM, Marginal, draw_marginal
from benchmarks.grammar.missing import (
    AT_RANDOM,
    BY_ANOTHER,
    BY_ANOTHER_SIZE,
    BY_ITSELF,
    TOGETHER,
    Missing,
    at_random,
)
from benchmarks.grammar.tables import ARRAY, FORMS, FRAME, Law, as_table

__all__ = ["KEPT", "NullCase", "drawn", "fixed", "keep", "kept", "null_case"]

Rng = np.random.Generator
KEPT = Path(__file__).with_name("kept.csv")

FEWEST_ROWS, MOST_ROWS, MOST_COLUMNS = 50, 100_000, 300
MOST_CELLS = 1_000_000
MOST_CATEGORIES = 400
FEWEST_OBSERVED = 10
BOTH_SIDES = ("nothing", AT_RANDOM, "MCAR in some columns", "MCAR at own rates", TOGETHER, BY_ANOTHER, BY_ITSELF)
SIDES_DIFFER = ("other rates", "MCAR to MAR", "MCAR to MAR by size")
SIDES_DIFFER_SHARE = 0.25
GREAT_CONTRAST_SHARE = 0.15


@dataclass(frozen=True)
class NullCase:
    """A law of rows, two sizes and the missing cells of both sides: nothing has changed but perhaps those cells."""

    name: str
    seed: int
    law: Law
    n_reference: int
    n_window: int
    missing_reference: Missing
    missing_window: Missing
    form: str = ARRAY

    @property
    def judged(self) -> str:
        """Which p-value must be calm: that of the verdict, or of the values alone where the missing cells changed."""
        return "verdict" if self.missing_reference == self.missing_window else "values"

    @property
    def n_columns(self) -> int:
        """Columns of either table."""
        return len(self.law.marginals)

    def pair(self, trial: int) -> tuple[Any, Any]:
        """Reference and window of a trial, all rows fresh."""
        rng = np.random.default_rng([self.seed, trial])
        sides = ((self.n_reference, self.missing_reference), (self.n_window, self.missing_window))
        reference, window = (self._table(n_rows, missing, rng) for n_rows, missing in sides)
        return reference, window

    def _table(self, n_rows: int, missing: Missing, rng: Rng) -> Any:
        latents, values = self.law.draw(n_rows, rng)
        return as_table(values, missing.mask(latents, rng), self.law.marginals, self.form)

    def __str__(self) -> str:
        gaps = str(self.missing_reference)
        if self.judged == "values":
            gaps += f" -> {self.missing_window}"
        sizes = f"{self.n_reference:,} against {self.n_window:,} rows x {self.n_columns}, {self.form}"
        return f"{sizes}: {self.law}; {gaps}"


@cache
def null_case(name: str) -> NullCase:
    """The case of this name: a fixed one, or ``drawn SEED``."""
    return fixed()[name] if name in fixed() else drawn(int(name.removeprefix("drawn ")))


def drawn(seed: int) -> NullCase:
    """The null case that a seed determines.

    Notes
    -----
    Sizes and widths are drawn on a logarithmic scale, then lowered until the table is affordable. Every column keeps
    some observed cells, and one column at least has values that vary enough for a test to reach its level: with flags
    that occur in one row of a thousand alone, fifty rows allow no test at all.
    """
    rng = np.random.default_rng([seed, zlib.crc32(b"null case")])
    n_reference, n_window, n_columns = _sizes(rng)
    form = str(rng.choice(FORMS, p=(0.5, 0.3, 0.2)))
    kind = str(rng.choice([kind for kind in DEPENDENCES if kind != COMPONENTS]))
    dependence = Dependence(kind, _strength(kind, rng), seed)
    before, after, mechanisms = _missing(n_columns, min(n_reference, n_window), rng)
    marginals = _marginals(n_columns, form, kind, rng)
    if {BY_ANOTHER, BY_ANOTHER_SIZE} & mechanisms:
        marginals[0] = draw_marginal(str(rng.choice(CONTINUOUS)), rng)
    rates = np.maximum(before.rates, after.rates)
    # Of copies the first half is what the others repeat.
    n_own = (n_columns + 1) // 2 if kind == COPIES else n_columns
    _make_testable(marginals, (1 - rates)[:n_own] * min(n_reference, n_window))
    if kind == COPIES:
        _name_copies(marginals)
    law = Law(tuple(marginals), dependence)
    return NullCase(f"drawn {seed}", seed, law, n_reference, n_window, before, after, form)


def _sizes(rng: Rng) -> tuple[int, int, int]:
    """Rows of the reference and of the window, and columns."""
    sizes = [_log_uniform(FEWEST_ROWS, MOST_ROWS, rng) for _ in range(2)]
    if rng.random() < GREAT_CONTRAST_SHARE:
        sizes = [_log_uniform(FEWEST_ROWS, 200, rng), _log_uniform(10_000, MOST_ROWS, rng)]
        rng.shuffle(sizes)
    n_columns = _log_uniform(1, MOST_COLUMNS, rng)
    if sum(sizes) * n_columns > MOST_CELLS and rng.random() < 0.5:
        n_columns = max(1, MOST_CELLS // sum(sizes))
    most = max(MOST_CELLS // n_columns - min(sizes), MOST_CELLS // (2 * n_columns))
    return min(sizes[0], most), min(sizes[1], most), n_columns


def _log_uniform(low: float, high: float, rng: Rng) -> int:
    return int(np.rint(np.exp(rng.uniform(np.log(low), np.log(high)))))


def _strength(kind: str, rng: Rng) -> float:
    """Strength of a dependence; 0 where the kind has none."""
    return 0.0 if kind in {"independent", COPIES} else float(np.round(rng.uniform(0.2, 0.9), 2))


def _marginals(n_columns: int, form: str, dependence: str, rng: Rng) -> list[Marginal]:
    """A marginal for each column: all of one kind, or of several."""
    kinds = [kind for kind in KINDS if kind != SUM and (form != ARRAY or kind not in NOT_NUMBERS)]
    most = MOST_CATEGORIES // n_columns
    n_kinds = 1 if rng.random() < 0.5 else int(rng.integers(2, 7))
    pool = [draw_marginal(str(kind), rng, most) for kind in rng.choice(kinds, n_kinds, replace=False)]
    marginals = [pool[place] for place in rng.integers(n_kinds, size=n_columns)]
    if dependence == FOLDED:
        odd = draw_marginal("ordinal" if form == ARRAY else str(rng.choice(["category", "Zipf category"])), rng, most)
        marginals[1::2] = [odd] * len(marginals[1::2])
    return marginals


def _make_testable(marginals: list[Marginal], observed: Any) -> None:
    """Make the column with most observed cells Gaussian where none of the first ones varies enough in its own."""
    if not any(marginal.varies(cells) for marginal, cells in zip(marginals, observed, strict=False)):
        marginals[int(np.argmax(observed))] = Marginal("gaussian", 1.0)


def _name_copies(marginals: list[Marginal]) -> None:
    """Give columns that repeat others, or add them, the marginals that this makes."""
    half = (len(marginals) + 1) // 2
    for place in range(half, len(marginals)):
        one, two = marginals[place - half], marginals[(place - half + 1) % half]
        adds = place % 2 and not {one.kind, two.kind} & set(NOT_NUMBERS)
        marginals[place] = Marginal(SUM, 1.0) if adds else one


def _missing(n_columns: int, n_rows: int, rng: Rng) -> tuple[Missing, Missing, set[str]]:
    """Missing cells of reference and window, and the mechanisms among them."""
    highest = min(0.9, 1 - FEWEST_OBSERVED / n_rows)
    differ = rng.random() < SIDES_DIFFER_SHARE
    kind = str(rng.choice(SIDES_DIFFER if differ and n_columns > 1 else ("other rates",) if differ else BOTH_SIDES))
    if n_columns == 1 and kind == BY_ANOTHER:
        kind = AT_RANDOM
    rate = _rate(highest, rng)
    before = at_random(n_columns, 0.0 if kind == "nothing" else rate)
    if kind == "other rates":
        after = at_random(n_columns, float(rng.choice([0.0, _rate(highest, rng)])))
    elif kind in {"MCAR to MAR", "MCAR to MAR by size"}:
        before = Missing(AT_RANDOM, (0.0, *before.rates[1:]))
        after = Missing(BY_ANOTHER if kind == "MCAR to MAR" else BY_ANOTHER_SIZE, before.rates)
    else:
        before = after = _same_on_both_sides(kind, before, highest, rng)
    return before, after, {before.mechanism, after.mechanism}


def _same_on_both_sides(kind: str, missing: Missing, highest: float, rng: Rng) -> Missing:
    n_columns = len(missing.rates)
    if kind == "MCAR in some columns":
        chosen = rng.random(n_columns) < 0.5
        return replace(missing, rates=tuple(np.where(chosen, missing.rates, 0.0).tolist()))
    if kind == "MCAR at own rates":
        return replace(missing, rates=tuple(_rate(highest, rng) for _ in range(n_columns)))
    if kind == BY_ANOTHER:
        return Missing(str(rng.choice([BY_ANOTHER, BY_ANOTHER_SIZE])), (0.0, *missing.rates[1:]))
    return replace(missing, mechanism=kind if kind in {TOGETHER, BY_ITSELF} else AT_RANDOM)


def _rate(highest: float, rng: Rng) -> float:
    """A rate from 0.01 on; half of them on a logarithmic scale, so that few missing cells are as frequent as many."""
    rate = rng.uniform(0.01, highest) if rng.random() < 0.5 else np.exp(rng.uniform(np.log(0.01), np.log(highest)))
    return float(np.round(rate, 3))


def kept() -> dict[str, str]:
    """Names of the drawn cases that ever failed, and what their descriptions were then."""
    with KEPT.open(newline="", encoding="utf-8") as file:
        return {f"drawn {row['seed']}": row["description"] for row in csv.DictReader(file)}


def keep(reasons: dict[str, str]) -> None:
    """Add drawn cases to those that ever failed, with the reasons; those that are there stay as they are."""
    known = kept()
    fresh = {name: reason for name, reason in reasons.items() if name not in known}
    with KEPT.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows((null_case(name).seed, reason, str(null_case(name))) for name, reason in fresh.items())


@cache
def fixed() -> dict[str, NullCase]:
    """Cases that alarmed far too often once, by name."""
    found = [*_wide_cases(), *_large_cases(), *_flag_cases(), *_rate_cases(), *_mechanism_cases()]
    return {case.name: case for case in found}


def _fixed(
    name: str, marginals: list[Marginal], dependence: Dependence, sizes: tuple[int, int], rate: float
) -> NullCase:
    missing = at_random(len(marginals), rate)
    form = FRAME if any(marginal.kind in NOT_NUMBERS for marginal in marginals) else ARRAY
    law = Law(tuple(marginals), dependence)
    return NullCase(name, zlib.crc32(name.encode()), law, *sizes, missing, missing, form)


INDEPENDENT = Dependence("independent")
CORRELATED = Dependence("equicorrelated", 0.5)
GAUSSIAN = Marginal("gaussian", 1.0)
SHAPES = [("gaussian", 1), ("log-normal", 1.5), ("rounded", 0.5), ("zero-inflated", 0.5), ("category", 3), ("count", 2)]
MIXED = [Marginal(kind, size) for kind, size in SHAPES]


def _wide_cases() -> list[NullCase]:
    sizes = (1_500, 1_500)
    return [
        *(_fixed(f"{d} Gaussian columns", [GAUSSIAN] * d, INDEPENDENT, sizes, 0.1) for d in (20, 25, 40, 60)),
        _fixed("12 three-level categories", [Marginal("category", 3)] * 12, INDEPENDENT, sizes, 0.1),
        _fixed("30 survey answers", [Marginal("ordinal", 5)] * 30, Dependence("equicorrelated", 0.2), sizes, 0.1),
        _fixed("30 principal components", [GAUSSIAN] * 30, Dependence(COMPONENTS), sizes, 0.1),
    ]


def _large_cases() -> list[NullCase]:
    many = (10_000, 10_000)
    number_and_category = [GAUSSIAN, GAUSSIAN, Marginal("category", 5)]
    tables: dict[str, list[Marginal]] = {
        "mixed columns": MIXED,
        "category with numbers": number_and_category,
        "100 levels": [GAUSSIAN, Marginal("Zipf category", 100)],
        "zero-inflated": [Marginal("zero-inflated", 0.8)] * 5,
        "nearly constant": [GAUSSIAN, *[Marginal("nearly constant", 0.999)] * 4],
        "rare flags": [Marginal("rare flag", 0.003)] * 8,
        "rare levels": [Marginal("Zipf category", 150)] * 3,
    }
    found = [_fixed(f"{name}, 10,000 rows", marginals, CORRELATED, many, 0.2) for name, marginals in tables.items()]
    contrasts = ((100, 10_000), (200, 20_000))
    return found + [_fixed(f"mixed, {m} against {n:,}", MIXED, CORRELATED, (m, n), 0.2) for m, n in contrasts]


def _flag_cases() -> list[NullCase]:
    """Flags that half of the rows have, as numbers, and levels that hardly any row has: cosines of both say nothing."""
    columns = [GAUSSIAN, *[Marginal("rare flag", 0.5)] * 3, Marginal("Zipf category", 12)]
    return [_fixed("even flags, 500 rows", columns, CORRELATED, (500, 500), 0.2)]


def _rate_cases() -> list[NullCase]:
    ordinals = [Marginal("ordinal", 3)] * 5
    laws = {
        "t(1) copula": ([GAUSSIAN] * 5, Dependence("t(1) copula", 0.5)),
        "bent": ([GAUSSIAN] * 4, Dependence("bent", 0.8)),
        "zero-inflated": ([Marginal("zero-inflated", 0.6)] * 5, CORRELATED),
        "ordinals": (ordinals, CORRELATED),
    }
    found = [_moved(f"5 to 70 %, {name}", *law, 0.05, 0.7) for name, law in laws.items()]
    log_normal = [Marginal("log-normal", 1.0)] * 25
    rates = ((0.5, 0.2), (0.3, 0.0))
    return found + [_moved(f"{a:.0%} to {b:.0%}, 25 log-normal", log_normal, CORRELATED, a, b) for a, b in rates]


def _moved(name: str, marginals: list[Marginal], dependence: Dependence, before: float, after: float) -> NullCase:
    case = _fixed(name, marginals, dependence, (500, 500), before)
    return replace(case, missing_window=at_random(len(marginals), after))


def _mechanism_cases() -> list[NullCase]:
    laws = {
        "bent": Dependence("bent", 0.8),
        "heteroscedastic": Dependence("heteroscedastic", 0.8),
        "t(1) copula": Dependence("t(1) copula", 0.5),
    }
    return [_becomes_mar(name, law, n_rows) for n_rows in (500, 10_000) for name, law in laws.items()]


def _becomes_mar(name: str, dependence: Dependence, n_rows: int) -> NullCase:
    case = _fixed(f"MCAR to MAR, {name}, {n_rows:,}", [GAUSSIAN] * 4, dependence, (n_rows, n_rows), 0.0)
    rates = (0.0, 0.4, 0.4, 0.4)
    return replace(case, missing_reference=Missing(AT_RANDOM, rates), missing_window=Missing(BY_ANOTHER, rates))
