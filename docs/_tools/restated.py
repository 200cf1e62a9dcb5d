"""Sentences of ``docs/evidence/reproduction.md`` that restate figures of its tables, made from these tables.

``python -m experiments report`` writes the tables into the page and leaves the words between them as they are. So the
words that quote a table are made here a second time, and ``tests/docs/test_typed.py`` looks for them in the page.
"""

import re
from collections.abc import Iterator

from docs._tools.typed import find_typed

CAUSES = "python -m experiments.causes"
"""Command that prints the figures beside it; it writes no file that they could be compared with."""
LABELS = ("method", "", "experiment", "average over", "distribution", "metric")
"""Headings of columns that name a row."""


def tables_of(page: str) -> dict[str, list[list[str]]]:
    """Rows of cells of the tables of a page, the header first, by name and protocol."""
    found = re.findall(r"<!-- table ([\w ]+) -->(.*?)<!-- end -->", page, re.DOTALL)
    return {
        name: [
            [cell.strip() for cell in line.strip("| ").split(" | ")]
            for line in text.strip().splitlines()
            if "---" not in line
        ]
        for name, text in found
    }


def figures_of(page: str) -> dict[str, float]:
    """Figures that sentences restate, by ``table protocol: row: column``; of columns of one name the first."""
    found: dict[str, float] = {}
    for name, (header, *rows) in tables_of(page).items():
        for row in rows:
            labels = [cell for cell, column in zip(row, header, strict=False) if column in LABELS]
            for column, cell in zip(header, row, strict=False):
                if column not in LABELS and (number := re.match(r"[-+]?\d*\.?\d+", cell)):
                    found.setdefault(f"{name}: {' '.join(labels)}: {column}", float(number.group()))
    return found


def sentences(page: str) -> Iterator[str]:
    """Words that the page must contain, with the figures of its tables."""
    f = figures_of(page)
    away = {
        number: f[f"3 published: {name} difference: mean"]
        for number, name in (
            ("1", "1. Complete"),
            ("2", "2. MV Impute"),
            ("3", "3. MDL"),
            ("4.1", "4.1 MDL-FWF-Gau"),
            ("4.2", "4.2 MDL-FWF-Tri"),
            ("5.1", "5.1 MDL-FWF-Gau-TopQ"),
            ("5.2", "5.2 MDL-FWF-Tri-TopQ"),
        )
    }
    yield (
        f"{(away['1'] + away['3'] + away['5.1'] + away['5.2']) / 4:.3f}: {away['1']:.4f}, {away['3']:.3f}, "
        f"{away['5.1']:.3f} and {away['5.2']:.3f}."
    )
    yield f"(mean distance {away['1']:.4f} and {away['2']:.4f}, rounding"
    yield (
        f"{away['3']:.3f} (3), {away['4.1']:.3f} (`4.1`), {away['4.2']:.3f} (`4.2`), {away['5.1']:.3f} (`5.1`) and "
        f"{away['5.2']:.3f} (`5.2`) away"
    )
    competitors = {
        name: (f[f"4 published: Complete {name} difference: mean"], f[f"5 published: Impute {name} difference: mean"])
        for name in ("MWW", "QuantTree", "ME", "MMD")
    }
    (complete, missing), (mmd_complete, mmd_missing) = competitors["QuantTree"], competitors["MMD"]
    yield f"QuantTree {complete:.4f} and {missing:.4f}, MMD {mmd_complete:.4f} and {mmd_missing:.4f}: nothing but"
    yield "| {:.4f} and {:.4f} |".format(*competitors["MWW"])
    yield "| ME | {:.3f} and {:.3f} away".format(*competitors["ME"])
    yield from _distances(f)
    yield from _errors(f)
    yield from _correlations(f)
    yield from _repaired(f)
    yield from _agreement(f)


def _distances(f: dict[str, float]) -> Iterator[str]:
    ours, papers = (
        [
            f"{f[f'2 published: {name} MAE {line}: MDL']:.3f}"
            for name in ("uniform", "gaussian", "exponential", "poisson")
        ]
        + [f"{f[f'2 published: categorical MAE {line}: MDL']:.3f}"]
        for line in ("reproduced", "published")
    )
    yield "({}, {}, {}, {} and {} against ".format(*ours) + "{}, {}, {}, {} and {})".format(*papers)


def _errors(f: dict[str, float]) -> Iterator[str]:
    filled = [f[f"5 published: Impute {name} reproduced: 0"] for name in ("MWW", "QuantTree", "ME", "MMD")]
    yield f"false alarms to {min(filled):.2f} to {max(filled):.2f} under `published`"
    digits = [f"{which} {side}" for which in ("2a", "2b") for side in ("missing", "complete")]
    alarms, misses = ([f[f"{table} published: MWW reproduced: {name}"] for name in digits] for table in ("9", "10"))
    yield f"(at most {max(alarms):.3f} without drift, {1 - min(misses):.3f} with it)"
    yield f"have {f['3 published: 3. MDL reproduced: windows']:.0f} of 500 windows"
    yield f"{f['9 sound: MMD reproduced: windows']:.0f} of 50 trials of each data set"


def _correlations(f: dict[str, float]) -> Iterator[str]:
    def of(protocol: str, column: str, *names: str) -> list[str]:
        return [f"{f[f'correlations {protocol}: {name}: {column}']:.3f}" for name in names]

    fuzzy = ("2 MDL-FWF-Tri-TopQ", "2 MDL-FWF-Gau-TopQ", "2 MDL", "2 MV Impute")
    ours, papers = of("published", "reproduced", *fuzzy), of("published", "published", *fuzzy)
    yield (
        "triangular {}, Gaussian {}, MDL {}, imputation {} (published ".format(*ours)
        + "{}, {}, {}, {})".format(*papers)
    )
    yield (
        "(triangular {}, Gaussian {}), then MDL ({}) and imputation ({}); ".format(*ours)
        + "the paper has {}, {}, {} and {}.".format(*papers)
    )
    yield "(imputation {}, QuantTree {}, MMD {})".format(
        *of("published", "published", "2 MV Impute", "3 QuantTree", "3 MMD")
    )
    yield "correlate {} with complete data, fuzzy weights with Q {} and {}, without Q {} and {}, imputation {},".format(
        *of("sound", "reproduced", "2 MDL", "2 MDL-FWF-Gau-TopQ", "2 MDL-FWF-Tri-TopQ"),
        *of("sound", "reproduced", "2 MDL-FWF-Gau", "2 MDL-FWF-Tri", "2 MV Impute"),
    )
    yield "(MWW {}, QuantTree {}, ME {}, MMD {}, DriftDetector {})".format(
        *of("sound", "reproduced", "3 MWW", "3 QuantTree", "3 ME", "3 MMD", "3 DriftDetector")
    )
    wald, published = of("sound", "reproduced", "3 MDL-FWF-Wald", "2 MDL-FWF-Tri-TopQ")
    yield f"under Wald's test correlate {wald}."
    yield f"on complete data is {wald}; that of the published test is {published}."


def _repaired(f: dict[str, float]) -> Iterator[str]:
    def of(row: str, column: str) -> float:
        return f[f"repaired sound: {row}: {column}"]

    none, ten = "no drift (false alarms), five kinds", "severities 1 to 10, five kinds"
    alarms, complete = of(none, "repaired test"), of(none, "repaired test, complete data")
    at_six, at_ten = of("severity 6, five kinds", "gain"), of(ten, "gain")
    at_best = of(ten, "repaired test, complete data") - of(ten, "published test")
    yield (
        f"{alarms:.3f} of 1000 trials, within the bar; {at_six:+.3f} at severity 6, "
        f"{of('severities 5 to 7, five kinds', 'gain'):+.3f} at severities 5 to 7, {at_ten:+.3f} over severities 1 to "
        f"10, where complete data would give {at_best:+.3f}"
    )
    half = of("complete data find at least half, the published test less than 0.9", "gain")
    yield f"({at_six:+.3f}, {half:+.3f})"
    yield f"missed ({at_ten:+.3f}), and would be without any missing value ({at_best:+.3f})"
    yield f"alarms in {of(none, 'published test'):.3f} of the windows without drift"
    yield f"{1000 * alarms:.0f} of 1000 ({alarms:.3f});"
    yield f"on complete data {1000 * complete:.0f} of 1000 ({complete:.3f})."
    yield f"alarms in {f['3 published: MDL-FWF-Wald reproduced: 0']:.3f} of the windows without drift (with the earlier"
    yield f"has {alarms:.3f} with missing values and {complete:.3f} without, and differs"


def _agreement(f: dict[str, float]) -> Iterator[str]:
    def of(row: str, column: str, protocol: str = "sound") -> float:
        return f[f"agreement {protocol}: {row}: {column}"]

    ours, mmd, fuzzy = "DriftDetector", "MMD", "MDL-FWF-Gau-TopQ"
    percent = {
        (name, protocol): f"{100 * of(name, 'real', protocol) + 1e-9:.1f} %"
        for name in (mmd, fuzzy, "MDL-FWF-Tri-TopQ")
        for protocol in ("published", "sound")
    }
    here = percent[mmd, "published"], percent[fuzzy, "published"]
    sound = f"{percent[mmd, 'sound']} and {percent[fuzzy, 'sound']}"
    yield f"from {here[0]} to {here[1]} with the authors' windows; under `sound` {sound}"
    nine, ten = (
        [f[f"{table} published: {name} reproduced: total difference"] for name in (mmd, fuzzy)] for table in ("9", "10")
    )
    yield f"are {here[0]} (({nine[0]:.2f} + {ten[0]:.2f}) / 12) and {here[1]} (({nine[1]:.2f} + {ten[1]:.2f}) / 12)"
    yield f"and {percent['MDL-FWF-Tri-TopQ', 'published']} of MDL-FWF-Tri-TopQ"
    yield f"MMD and MDL-FWF-Gau-TopQ are {sound}"
    synthetic, real = of(ours, "synthetic"), of(ours, "real")
    yield f"{synthetic:.4f} on the synthetic data of `sound`, and {real:.4f} on the real data"
    yield f"that of MMD is smaller, {of(mmd, 'real'):.3f} against {real:.3f})"
    yield f"misses its bar of `0.03` there: {synthetic:.4f}."
    most = max(of(name, "with missing values") for name in (ours, mmd, "ME", "MWW", "QuantTree"))
    yield f"(at most {most:.3f} of 500 windows, MMD with missing values)"
    yield f"k-means and chi-squared are about {of(fuzzy, 'false alarms, complete'):.3f}, since"
    yield (
        f"by {of('MDL-FWF-Wald', 'synthetic'):.4f}, where the published test differs by "
        f"{of('MDL-FWF-Tri-TopQ', 'synthetic'):.4f}."
    )


def as_pattern(sentence: str) -> str:
    """Regular expression for words that may be broken over lines."""
    return r"\s+".join(map(re.escape, sentence.split()))


def find_loose(page: str) -> Iterator[tuple[int, str]]:
    """Typed figures that neither restate a table nor stand beside the command of `CAUSES` that prints them."""
    for sentence in sentences(page):
        page = re.sub(as_pattern(sentence), lambda found: re.sub(r"[^\n]", " ", found.group()), page)
    lines, covered, named = page.splitlines(), set(), False
    for number, line in enumerate(lines, 1):
        begins = number == 1 or not lines[number - 2].strip()
        if begins and line.strip() and not line.startswith(("|", "-")):
            named = False
        paragraph = line if not begins else " ".join(_paragraph(lines, number - 1))
        named = named or CAUSES in paragraph
        if named:
            covered.add(number)
    yield from ((number, figure) for number, figure in find_typed(page) if number not in covered)


def _paragraph(lines: list[str], start: int) -> Iterator[str]:
    for line in lines[start:]:
        if not line.strip():
            return
        yield line
