"""Phrases as tests compare them."""

from gapdrift.results.report.words import Name, replace_invisible, shorten


def to_plain_text(phrase):
    return "".join(shorten(piece.text) if isinstance(piece, Name) else replace_invisible(piece) for piece in phrase)
