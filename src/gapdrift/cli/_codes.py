"""What the command line leaves with."""

__all__ = ["DRIFT", "ERROR"]

ERROR = 1
DRIFT = 3
