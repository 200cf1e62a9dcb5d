"""Public names that are imported when first asked for: a command line should not wait for models it does not use."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["attach"]


def attach(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The module functions ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
    homes : mapping of str to str
        Module of each name; a module that is named like its own last part is the value itself.
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
