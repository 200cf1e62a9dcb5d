"""Parts of pages that are made when the site is built: tables of results, options of commands, sentences, pictures."""

from pathlib import Path


def write_fragments(source: Path) -> None:
    """Write all parts below ``_generated`` of the site's source folder."""
    folder = source / "_generated"
    folder.mkdir(exist_ok=True)
