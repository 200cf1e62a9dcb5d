"""Style sheet of the pages about many windows."""

from importlib import resources

from gapdrift.results.report.assets import read_asset
from gapdrift.results.report.palette import HEAT_STEPS, theme_css

__all__ = ["page_style"]


def page_style() -> str:
    """Style sheet: that of the reports, and what timelines and heat maps need besides."""
    own = resources.files("gapdrift.overview.assets").joinpath("overview.css").read_text(encoding="utf-8")
    steps = range(HEAT_STEPS + 1)
    heat = "".join(f".f{step}{{fill:var(--h{step})}}.t{step}{{fill:var(--i{step})}}\n" for step in steps)
    return theme_css() + read_asset("style.css") + heat + own
