"""Every sentence that gapdrift says, collected from its source: errors by their class, and notes and warnings."""

import ast
from collections.abc import Iterator
from pathlib import Path

from docs._tools.figures import markdown

LEFT_OUT = ("cli/_options.py", "service/migrations", "service/templates")
HELP = ("cli/_app.py", "service/api.py", "service/metrics.py")
"""Modules whose other sentences are help texts."""
MIN_WORDS = 4


def describe_all(package: Path) -> str:
    """Two tables as Markdown: sentences of errors, and other sentences."""
    found = [
        (kind, sentence, path.relative_to(package))
        for path in sorted(package.rglob("*.py"))
        if not any(part in path.as_posix() for part in LEFT_OUT)
        for kind, sentence in sentences_of(ast.parse(path.read_text(encoding="utf-8")))
        if kind or not path.as_posix().endswith(HELP)
    ]
    parts = []
    for title, is_wanted in (("Errors", True), ("Notes, warnings and reasons", False)):
        rows = {(_cell(sentence), kind, f"`{path}`") for kind, sentence, path in found if bool(kind) == is_wanted}
        cells = [
            [sentence, f"`{kind}`", path] if is_wanted else [sentence, path] for sentence, kind, path in sorted(rows)
        ]
        header = ["sentence", "error", "said by"] if is_wanted else ["sentence", "said by"]
        parts.append(f"## {title}\n\n{markdown(header, cells)}")
    return "\n".join(parts)


def sentences_of(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Name of the error that is raised, or nothing, and a sentence, for each sentence of a module."""
    skipped = set(docstrings(tree))
    errors = {
        id(part): raised.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise)
        and isinstance(raised := node.exc, ast.Call)
        and isinstance(raised.func, ast.Name)
        for part in ast.walk(raised)
    }
    inner = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
        if part is not node
    }
    for node in ast.walk(tree):
        if id(node) in skipped or id(node) in inner or not isinstance(node, ast.Constant | ast.JoinedStr):
            continue
        text = as_text(node)
        if is_sentence(text):
            yield errors.get(id(node), ""), text


def docstrings(tree: ast.Module) -> Iterator[int]:
    """Identities of the nodes that are docstrings, or texts below an assignment."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield id(node.value)


def as_text(node: ast.Constant | ast.JoinedStr) -> str:
    """A text with its places for values in brackets."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return "".join(
        str(part.value)
        if isinstance(part, ast.Constant)
        else "{" + ast.unparse(part.value).replace("\n", " ")[:40] + "}"
        for part in node.values
        if isinstance(part, ast.Constant | ast.FormattedValue)
    )


def is_sentence(text: str) -> bool:
    """Whether a text has some words and ends as sentences do."""
    words = text.split()
    return (
        len(words) >= MIN_WORDS
        and text.rstrip().endswith((".", ".)", ". "))
        and "<" not in text[:1]
        and "\n" not in text.strip()
    )


def _cell(text: str) -> str:
    return (
        text.strip()
        .replace("|", "\\|")
        .replace("<", "\\<")
        .replace("*", "\\*")
        .replace("_", "\\_")
        .replace("[", "\\[")
        .replace("`", "'")
        .replace("$", "\\$")
    )
