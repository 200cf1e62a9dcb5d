"""The fenced blocks of a page, with the marks that say how each of them is run."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

OPENING = re.compile(r"^(?P<fence>`{3,})(?:\{code-block\}\s*)?(?P<language>[\w-]*)\s*$")
MARKS = ("background", "crontab", "dry run", "in", "run by")
"""What may stand in a comment before a block; ``docs/contributing/pages.md`` says what each of them means."""
MARK = re.compile(rf"<!-- (?P<name>{'|'.join(MARKS)})(?:: (?P<text>.+))? -->")
SETUP = "<!-- setup"


@dataclass(frozen=True)
class Block:
    """One fenced block: ``line`` is the number of its first line of text, counted from 1."""

    language: str
    lines: tuple[str, ...]
    line: int
    caption: str = ""
    mark: str = ""
    mark_text: str = ""

    @property
    def text(self) -> str:
        """Lines of the block as one text."""
        return "\n".join(self.lines) + "\n"

    @property
    def environment(self) -> str:
        """Name of the environment that the block is run in; empty for the ordinary one."""
        return self.mark_text if self.mark == "in" else ""


@dataclass(frozen=True)
class Command:
    """One command of a console block, and the lines of output that the page shows for it."""

    source: str
    shown: tuple[str, ...]
    start: int
    """Index of the first line of its output in the block."""


def commands_of(block: Block) -> Iterator[Command]:
    """Commands of a console block: lines after ``$ ``, those after ``> `` that go on with them, and their output."""
    if not block.lines or not block.lines[0].startswith("$ "):
        raise ValueError(f"line {block.line}: a console block begins with '$ ' and a command.")
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
        end = "-->" if lines[place] == SETUP else opening["fence"] if opening else None
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
        mark = MARK.fullmatch(before.strip())
        name, words = (mark["name"], mark["text"] or "") if mark else ("", "")
        yield Block(language, tuple(body), start + 1, caption, name, words)
