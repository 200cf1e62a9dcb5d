"""The code blocks of a page, run in order in a folder of their own, their output compared with what the page shows.

``pytest docs README.md`` runs them (``conftest.py``); ``python -m docs._tools.blocks PAGE...`` writes the real output
into the pages instead. Which blocks are run, and how, is told in ``docs/contributing/pages.md``.
"""

import argparse
import contextlib
import doctest
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from docs._tools.fences import Block, Command, blocks_of, commands_of
from docs._tools.terminal import Background, check_run_by, run_commands, run_crontab, run_dry

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
EVERYWHERE = "everywhere"
"""Name of all environments."""
LOOSE = (
    (re.compile(r"\bp [=<] (?:\.\.\.|[\d.e-]+\d)"), "p"),
    (re.compile(r"\beffect size (?:\.\.\.|[\d.]+\d)"), "effect size"),
    (re.compile(r"^(\d+ +[\d,]+ to [\d,]+ +\w+)(?: +(?:< 1e-9|[\d.e-]+)){4}", re.MULTILINE), r"\1"),
)
"""P-values and effect sizes of summaries and of tables of a history: every change of a detector moves them a little."""


@dataclass(frozen=True)
class Difference:
    """Output that is not what the page shows: the first line shown, the number of lines, what is shown, what came."""

    line: int
    n_lines: int
    shown: str
    came: str


@dataclass
class Page:
    """What the blocks of one page share: Python's names, and the outputs that differ.

    The name ``stand_ins`` of a page is a mapping that its setup fills: what readers have to put their own in for, such
    as the address of a cluster, and what is put in for it here. ``background`` is the latest server.
    """

    checker: doctest.OutputChecker = field(default_factory=doctest.OutputChecker)
    environment: str = ""
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__", "stand_ins": {}})
    wrong: list[Difference] = field(default_factory=list)
    finally_: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    """What is done when all blocks have been run."""

    def run(self, block: Block) -> None:
        """Run one block, or write it to its file; differences are gathered in ``wrong``."""
        if block.language != "setup":
            block = self.with_stand_ins(block)
        if block.environment not in (self.environment, EVERYWHERE):
            return
        if block.caption:
            Path(block.caption).write_text(block.text, encoding="utf-8")
        elif block.mark == "crontab":
            run_crontab(block.text, Path.cwd())
        elif block.language == "console":
            self.run_console(block)
        elif ">>> " in block.text and block.language in ("python", "pycon"):
            self.run_session(block)
        elif block.language in ("python", "setup"):
            exec(compile(block.text, f"<{block.language}>", "exec"), self.names)

    def with_stand_ins(self, block: Block) -> Block:
        """Block as it is run here."""
        lines, words = list(block.lines), block.mark_text
        for placeholder, ours in self.names["stand_ins"].items():
            lines, words = [line.replace(placeholder, ours) for line in lines], words.replace(placeholder, ours)
        return replace(block, lines=tuple(lines), mark_text=words)

    def without_stand_ins(self, text: str) -> str:
        """Output as the page shows it."""
        for placeholder, ours in self.names["stand_ins"].items():
            text = text.replace(ours, placeholder)
        return text

    def run_console(self, block: Block) -> None:
        """Run the commands of a block, or check them, as its mark says."""
        commands = list(commands_of(block))
        if block.mark == "run by":
            for command in commands:
                check_run_by(command.source, block.mark_text)
        elif block.mark == "dry run":
            for command in commands:
                run_dry(command.source)
        else:
            sources = [command.source for command in commands]
            is_server = block.mark == "background"
            outputs = self.start(sources, block.mark_text) if is_server else run_commands(sources, Path.cwd())
            for command, came in zip(commands, outputs, strict=True):
                self.compare(block, command, came)

    def compare(self, block: Block, command: Command, came: str) -> None:
        """Compare the output of a command with what is shown."""
        shown = "".join(line + "\n" for line in command.shown)
        if not self.checker.check_output(shown or "\n", came or "\n", FLAGS):
            self.wrong.append(Difference(block.line + command.start, len(command.shown), shown, came))

    def start(self, sources: Sequence[str], words: str) -> list[str]:
        """Output of a command until it answers at the address that a mark names; it is stopped after the last block."""
        until = re.fullmatch(r"until (\S+) answers", words)
        if until is None or len(sources) != 1:
            raise ValueError(f"expected one command and 'background: until <address> answers', got {words!r}.")
        server = self.names["background"] = Background(sources[0], Path.cwd(), until[1])
        self.finally_.callback(server.stop)
        return [server.read()]

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

    def __init__(self, block: Block, wrong: list[Difference], checker: doctest.OutputChecker) -> None:
        super().__init__(checker, optionflags=FLAGS)
        self.block, self.gathered = block, wrong

    def report_failure(self, out: Any, test: Any, example: doctest.Example, got: str) -> None:  # noqa: ARG002
        start = example.lineno + example.source.count("\n")
        self.gathered.append(Difference(self.block.line + start, example.want.count("\n"), example.want, got))

    def report_unexpected_exception(self, out: Any, test: Any, example: doctest.Example, exc_info: Any) -> None:  # noqa: ARG002
        place = f"line {self.block.line + example.lineno}: {example.source.strip()}"
        raise RuntimeError(f"{place}: {exc_info[0].__name__}: {exc_info[1]}") from exc_info[1]


def run_page(path: Path, folder: Path, checker: doctest.OutputChecker, environment: str = "") -> Page:
    """Page whose blocks of one environment were run in a folder, which is the working directory meanwhile."""
    page = Page(checker, environment)
    sys.path.insert(0, str(folder))  # as in a session that was started there
    with contextlib.chdir(folder), page.finally_ as stack:
        stack.callback(sys.path.remove, str(folder))
        for block in blocks_of(path.read_text(encoding="utf-8")):
            try:
                page.run(block)
            except Exception as error:
                raise RuntimeError(f"{path}, block at line {block.line}: {error}") from error
    return page


def update(path: Path, environment: str = "") -> None:
    """Write the real output of its blocks of one environment into a page."""
    with tempfile.TemporaryDirectory() as folder:
        page = run_page(path.resolve(), Path(folder), doctest.OutputChecker(), environment)
    lines = path.read_text(encoding="utf-8").splitlines()
    for wrong in reversed(page.wrong):
        came = page.without_stand_ins(wrong.came).rstrip("\n").splitlines()
        lines[wrong.line - 1 : wrong.line - 1 + wrong.n_lines] = came
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def check(path: Path, environment: str = "") -> str:
    """Outputs that are not what a page shows, in words; empty where there are none."""
    with tempfile.TemporaryDirectory() as folder:
        wrong = run_page(path.resolve(), Path(folder), LooseChecker(), environment).wrong
    return "\n".join(f"{path}:{each.line}\nshown:\n{each.shown}came:\n{each.came}" for each in wrong)


def main() -> None:
    """Write real output into pages, or compare it with what they show; exit with 1 where it differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--environment", default="", help="run the blocks that are marked with 'in: ENVIRONMENT'")
    parser.add_argument("--check", action="store_true", help="compare only")
    options = parser.parse_args()
    if options.check:
        found = [text for page in options.pages if (text := check(page, options.environment))]
        sys.exit("\n".join(found) if found else 0)
    for page in options.pages:
        update(page, options.environment)


if __name__ == "__main__":
    main()
