"""The exit codes of the command line."""

from enum import IntEnum

__all__ = ["ExitCode"]


class ExitCode(IntEnum):
    """What a command leaves with."""

    DONE = 0
    ERROR = 1
    DRIFT = 3
    """Only where ``--fail-on-drift`` was asked for."""
