"""Errors that the service answers with, each with the status code of the answer."""

from gapdrift.errors import GapdriftError

__all__ = ["ConflictError", "ForbiddenError", "NotFoundError", "TooLargeError", "TooManyError", "UnavailableError"]


class ForbiddenError(GapdriftError):
    """A request that whoever makes it may not make."""

    code = 403


class NotFoundError(GapdriftError):
    """Something that does not exist, or not for whoever asks."""

    code = 404


class ConflictError(GapdriftError):
    """A request that does not fit to what is there."""

    code = 409


class TooLargeError(GapdriftError):
    """More than the service takes at once."""

    code = 413


class TooManyError(GapdriftError):
    """More requests than the service answers in this time."""

    code = 429


class UnavailableError(GapdriftError):
    """A request that could not be answered now, and can be made again."""

    code = 503
