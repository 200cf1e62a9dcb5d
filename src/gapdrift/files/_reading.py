"""How files are read: what was said about them, which a fitted detector keeps for its windows."""

from dataclasses import dataclass

from gapdrift.files._csv import CsvDialect
from gapdrift.persistence.records import expect, stored

__all__ = ["Reading"]


@stored
@dataclass(frozen=True)
class Reading:
    """Options by which files are read; None and () mean that nothing was said.

    Parameters
    ----------
    file_format : str, optional
        Format of files whose endings say nothing.
    separator, decimal, encoding : str, optional
        Dialect of CSV files.
    missing : tuple of str
        Further words or numbers that stand for a missing value.
    numbers : tuple of str
        Columns of CSV files that hold numbers, whatever their cells look like.

    Examples
    --------
    >>> stored = Reading(separator=";", missing=("-200",))
    >>> Reading(separator=",", missing=("?",)).over(stored)
    Reading(file_format=None, separator=',', decimal=None, encoding=None, missing=('-200', '?'), numbers=())
    """

    file_format: str | None = None
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    missing: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the dialect."""
        CsvDialect(self.separator, self.decimal, self.encoding)

    @property
    def dialect(self) -> CsvDialect:
        """Dialect of CSV files."""
        return CsvDialect(self.separator, self.decimal, self.encoding)

    def over(self, other: "Reading") -> "Reading":
        """These options, and those of another where nothing is said here; missing words and numbers of both."""
        return Reading(
            self.file_format or other.file_format,
            self.separator or other.separator,
            self.decimal or other.decimal,
            self.encoding or other.encoding,
            tuple(dict.fromkeys((*other.missing, *self.missing))),
            tuple(dict.fromkeys((*other.numbers, *self.numbers))),
        )

    def said(self) -> dict[str, str | list[str]]:
        """What was said, as plain values."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items() if value}

    def check_stored(self) -> None:
        """Check what was read from a file: the name of a format."""
        expect(self.file_format is None or self.file_format.isidentifier(), "the name of a format")
