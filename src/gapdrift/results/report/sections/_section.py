"""The types of the sections: `Report` goes in, `Section` comes out."""

from collections.abc import Mapping
from dataclasses import dataclass

from gapdrift.results.result import DriftResult

__all__ = ["LEGEND", "Report", "Section"]

LEGEND = (
    '<p class="legend"><span><svg class="key" width="22" height="12" aria-hidden="true"><title>filled</title>'
    '<rect width="22" height="12" rx="2" class="reference"/></svg>Reference</span>'
    '<span><svg class="key" width="22" height="12" aria-hidden="true"><title>striped or a line</title>'
    '<rect width="22" height="12" rx="2" class="window-bar"/></svg>Window</span></p>'
)
"""Legend that shows how reference and window are drawn."""


@dataclass(frozen=True)
class Report:
    """Everything a section can show.

    Parameters
    ----------
    result : DriftResult
    sources : mapping of str to str
        Where the data come from.
    made : str
        When, or by whom, the page was made; may be empty.
    """

    result: DriftResult
    sources: Mapping[str, str]
    made: str


@dataclass(frozen=True)
class Section:
    """Part of the page with a heading.

    Parameters
    ----------
    key : str
        Id of the section in the page, to which links can point.
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
