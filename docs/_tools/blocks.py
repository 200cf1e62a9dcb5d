"""The code blocks of a page, run in order in a folder of their own, their output compared with what the page shows.

``pytest docs README.md`` runs them (``conftest.py``); ``python -m docs._tools.blocks PAGE...`` writes the real output
into the pages instead. Which blocks are run, and how, is told in ``docs/contributing/pages.md``.
"""

import contextlib
import doctest
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
RUN = ("console", "pycon", "python")
"""Languages of blocks that are run. Any other block is shown only, or written to the file that its caption names."""
OPENING = re.compile(r"^(?P<fence>`{3,})(?:\{code-block\}\s*)?(?P<language>[\w-]*)\s*$")
NOT_RUN = re.compile(r"<!-- not run: (.+) -->")
TIME_LIMIT = 300
LOOSE = (
    (re.compile(r"\bp [=<] (?:\.\.\.|[\d.e-]+\d)"), "p"),
    (re.compile(r"\beffect size (?:\.\.\.|[\d.]+\d)"), "effect size"),
    (re.compile(r"^(\d+ +[\d,]+ to [\d,]+ +\w+)(?: +(?:< 1e-9|[\d.e-]+)){4}", re.MULTILINE), r"\1"),
)
"""P-values and effect sizes of summaries and of tables of a history: every change of a detector moves them a little."""


@dataclass(frozen=True)
class Block:
    """One fenced block: ``line`` is the number of its first line of text, counted from 1."""

    language: str
    lines: tuple[str, ...]
    line: int
    caption: str = ""
    not_run: str = ""

    @property
    def text(self) -> str:
        """Lines of the block as one text."""
        return "\n".join(self.lines) + "\n"


@dataclass(frozen=True)
class Command:
    """One command of a console block, and the lines of output that the page shows for it."""

    source: str
    shown: tuple[str, ...]
    start: int
    """Index of the first line of its output in the block."""


@dataclass
class Page:
    """What the blocks of one page share: a folder, Python's names, and the outputs that differ."""

    folder: Path
    checker: doctest.OutputChecker = field(default_factory=doctest.OutputChecker)
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    wrong: list[tuple[int, int, str, str]] = field(default_factory=list)
    """First line and number of lines shown, the lines shown, the lines that came."""

    def run(self, block: Block) -> None:
        """Run one block, or write it to its file; differences are gathered in ``wrong``."""
        if block.caption and not block.not_run:
            (self.folder / block.caption).write_text(block.text, encoding="utf-8")
        elif block.language == "setup":
            exec(compile(block.text, "<setup>", "exec"), self.names)
        elif block.not_run or block.language not in RUN:
            if block.language == "python":
                compile(block.text, "<block>", "exec")
        elif block.language == "console":
            self.run_console(block)
        elif ">>> " in block.text:
            self.run_session(block)
        else:
            exec(compile(block.text, "<block>", "exec"), self.names)

    def run_console(self, block: Block) -> None:
        """Run the commands of a block by bash, one after the other."""
        for command in commands_of(block):
            came = run_command(command.source, self.folder)
            shown = "".join(line + "\n" for line in command.shown)
            if not self.checker.check_output(shown or "\n", came or "\n", FLAGS):
                self.wrong.append((block.line + command.start, len(command.shown), shown, came))

    def run_session(self, block: Block) -> None:
        """Run the lines of a Python session by doctest."""
        test = doctest.DocTestParser().get_doctest(block.text, self.names, "session", None, None)
        test.globs = self.names
        runner = _Gathering(block, self.wrong, self.checker)
        runner.run(test, out=lambda _: None, clear_globs=False)


class LooseChecker(doctest.OutputChecker):
    """Takes outputs for equal that differ in p-values and effect sizes only (`LOOSE`)."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        """Whether what came is what is shown."""
        for pattern, replacement in LOOSE:
            want, got = pattern.sub(replacement, want), pattern.sub(replacement, got)
        return super().check_output(want, got, optionflags)


class _Gathering(doctest.DocTestRunner):
    """Runner that keeps outputs that differ instead of printing them."""

    def __init__(self, block: Block, wrong: list[tuple[int, int, str, str]], checker: doctest.OutputChecker) -> None:
        super().__init__(checker, optionflags=FLAGS)
        self.block, self.gathered = block, wrong

    def report_failure(self, out: Any, test: Any, example: doctest.Example, got: str) -> None:  # noqa: ARG002
        start = example.lineno + example.source.count("\n")
        self.gathered.append((self.block.line + start, example.want.count("\n"), example.want, got))

    def report_unexpected_exception(self, out: Any, test: Any, example: doctest.Example, exc_info: Any) -> None:  # noqa: ARG002
        raise RuntimeError(f"line {self.block.line + example.lineno}: {example.source.strip()}") from exc_info[1]


def run_command(source: str, folder: Path) -> str:
    """Output of a command of bash, errors included; it must end with exit code 0."""
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "110",
        "NO_COLOR": "1",
        "MPLBACKEND": "Agg",
        "PYTHONHASHSEED": "0",
    }
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", source],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=TIME_LIMIT,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode} of {source!r}: {done.stdout}")
    return done.stdout


def commands_of(block: Block) -> Iterator[Command]:
    """Commands of a console block: lines after ``$ ``, those after ``> `` that go on with them, and their output."""
    if not block.lines or not block.lines[0].startswith("$ "):
        raise ValueError(
            f"line {block.line}: a console block begins with '$ ', or is marked with <!-- not run: why -->."
        )
    place = 0
    while place < len(block.lines):
        source = [block.lines[place][2:]]
        place += 1
        while place < len(block.lines) and block.lines[place].startswith("> "):
            source.append(block.lines[place][2:])
            place += 1
        start = place
        while place < len(block.lines) and not block.lines[place].startswith("$ "):
            place += 1
        yield Command("\n".join(source), block.lines[start:place], start)


def blocks_of(text: str) -> Iterator[Block]:
    """Fenced blocks of a page, and its hidden ``<!-- setup`` comments."""
    lines = text.splitlines()
    place = 0
    while place < len(lines):
        opening = OPENING.match(lines[place])
        end = "-->" if lines[place] == "<!-- setup" else opening["fence"] if opening else None
        if end is None:
            place += 1
            continue
        before = next((line for line in reversed(lines[:place]) if line.strip()), "")
        start = place + 1
        place = next((at for at in range(start, len(lines)) if lines[at].strip() == end), len(lines)) + 1
        caption, body = "", lines[start : place - 1]
        while body and opening and body[0].startswith(":"):
            caption = caption or body[0].removeprefix(":caption:").strip() * body[0].startswith(":caption:")
            body, start = body[1:], start + 1
        if caption and body and not body[0]:  # the line between options and text
            body, start = body[1:], start + 1
        language = opening["language"] if opening else "setup"
        found = NOT_RUN.fullmatch(before.strip())
        yield Block(language, tuple(body), start + 1, caption, found[1] if found else "")


def run_page(path: Path, folder: Path, checker: doctest.OutputChecker) -> Page:
    """Page whose blocks were run in a folder, which is the working directory meanwhile."""
    page = Page(folder, checker)
    sys.path.insert(0, str(folder))  # as in a session that was started there
    with contextlib.chdir(folder), contextlib.ExitStack() as stack:
        stack.callback(sys.path.remove, str(folder))
        for block in blocks_of(path.read_text(encoding="utf-8")):
            try:
                page.run(block)
            except Exception as error:
                raise RuntimeError(f"{path}, block at line {block.line}: {error}") from error
    return page


def update(path: Path) -> None:
    """Write the real output of its blocks into a page."""
    with tempfile.TemporaryDirectory() as folder:
        page = run_page(path.resolve(), Path(folder), doctest.OutputChecker())
    lines = path.read_text(encoding="utf-8").splitlines()
    for line, n_lines, _, came in reversed(page.wrong):
        lines[line - 1 : line - 1 + n_lines] = came.rstrip("\n").splitlines()
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        update(Path(name))
