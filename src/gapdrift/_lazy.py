"""Public names that are imported on first use, so that the command line does not wait for models it does not need."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["attach"]


def attach(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Functions ``__getattr__`` and ``__dir__`` for a package whose public names are imported on first use.

    Parameters
    ----------
    package : str
    homes : mapping of str to str
        Module that defines each public name. A name whose module is ``package.name`` stands for that module itself.
    """

    def get(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(home)
        return module if home == f"{package}.{name}" else getattr(module, name)

    def names() -> list[str]:
        return sorted(homes)

    return get, names
