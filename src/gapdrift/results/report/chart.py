"""A figure of matplotlib that notebooks show, and that opens its own window. Importing this needs matplotlib."""

from collections.abc import Callable
from io import BytesIO
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from gapdrift.errors import GapdriftError

__all__ = ["Chart"]

WITHOUT_WINDOWS = frozenset({"agg", "cairo", "pdf", "pgf", "ps", "svg", "template"})
"""Backends of matplotlib that only write files."""


class Chart(Figure):
    """Figure that does not take part in pyplot's list of figures, so that drawing a thousand keeps none of them.

    Parameters
    ----------
    size : tuple of float
        Width and height in inches.
    draw : callable
        Draws into a figure.
    """

    def __init__(self, size: tuple[float, float], draw: Callable[[Figure], None]) -> None:
        super().__init__(figsize=size, layout="constrained")
        self._draw_into = draw
        draw(self)

    def _repr_png_(self) -> bytes:
        """Picture that a notebook shows."""
        picture = BytesIO()
        self.savefig(picture, format="png", dpi=110)
        return picture.getvalue()

    def show(self, *_arguments: Any, **_settings: Any) -> None:
        """Open a window with the chart, and wait until it is closed; a notebook shows the chart below the cell."""
        import matplotlib.pyplot as plt  # noqa: PLC0415

        backend = mpl.get_backend().lower()
        if backend in WITHOUT_WINDOWS:
            raise GapdriftError(
                f"There is no screen to show the chart on: matplotlib's backend is {backend!r}. Write it to a file "
                "with savefig(path), or choose a backend with windows (matplotlib.use)."
            )
        window = plt.figure(figsize=tuple(self.get_size_inches()), layout="constrained")
        self._draw_into(window)
        plt.show()
        plt.close(window)
