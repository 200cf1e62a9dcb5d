"""The version, apart from all else so that every module can tell it."""

__all__ = ["__version__"]

__version__ = "0.1.0"
