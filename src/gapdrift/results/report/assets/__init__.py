"""Style sheets, script and fixed text of the reports."""

from importlib import resources

__all__ = ["read_asset"]


def read_asset(name: str) -> str:
    """Text of a file of this package."""
    return resources.files("gapdrift.results.report.assets").joinpath(name).read_text(encoding="utf-8")
