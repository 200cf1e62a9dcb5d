"""Pictures of the gallery that `DriftResult.plot` returns: pyplot does not know of them, so they are saved here."""

from typing import Any
from weakref import WeakSet

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

SHOWN: WeakSet[Figure] = WeakSet()
"""Figures that a page has already: an example keeps the name ``figure`` after the block that drew it."""


def save_figure(_block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Lines that show the variable ``figure`` of an example, where pyplot does not manage it.

    Called before the scraper of matplotlib, which closes what pyplot manages: a closed figure has no manager either.
    """
    figure = block_vars["example_globals"].get("figure")
    if not isinstance(figure, Figure) or figure in SHOWN:
        return ""
    SHOWN.add(figure)
    if figure.canvas.manager is not None:
        return ""
    path = next(block_vars["image_path_iterator"])
    figure.savefig(path, dpi=150)
    return str(figure_rst([path], gallery_conf["src_dir"]))
