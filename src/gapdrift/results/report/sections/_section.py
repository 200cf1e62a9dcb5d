"""A part of the page with a heading."""

from dataclasses import dataclass

__all__ = ["LEGEND", "Section"]

LEGEND = (
    '<p class="legend"><span><svg class="key" width="22" height="12" aria-hidden="true"><title>filled</title>'
    '<rect width="22" height="12" rx="2" class="reference"/></svg>Reference</span>'
    '<span><svg class="key" width="22" height="12" aria-hidden="true"><title>striped or a line</title>'
    '<rect width="22" height="12" rx="2" class="window-bar"/></svg>Window</span></p>'
)
"""Which is which."""


@dataclass(frozen=True)
class Section:
    """Part of the page.

    Parameters
    ----------
    key : str
        Its place in the page's address.
    title : str
    body : str
        HTML.
    """

    key: str
    title: str
    body: str

    def html(self) -> str:
        """The section with its heading."""
        return (
            f'<section id="{self.key}" aria-labelledby="{self.key}-title"><h2 id="{self.key}-title">{self.title}</h2>\n'
            f"{self.body}\n</section>"
        )
