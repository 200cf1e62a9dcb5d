"""Pictures of the gallery that `DriftResult.plot` returns: pyplot does not know of them, so they are saved here."""

from typing import Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst


def save_figure(_block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Lines that show the variable ``figure`` of an example, where pyplot does not manage it."""
    figure = block_vars["example_globals"].get("figure")
    if not isinstance(figure, Figure) or figure.canvas.manager is not None:
        return ""
    path = next(block_vars["image_path_iterator"])
    figure.savefig(path, dpi=150)
    return str(figure_rst([path], gallery_conf["src_dir"]))
