"""What a wrong Python argument raises, and the check that all names share."""

from __future__ import annotations

from reprlib import Repr

from cepheid.errors import UsageError

_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = 80


def shown(value: object) -> str:
    """A value as an error shows it: whole unless it is long."""
    return _SHORT.repr(value)


def misuse(message: str, remedy: str) -> UsageError:
    """The error of every call that the builder does not offer."""
    return UsageError("CEP604", message, remedy)


def check_name(name: object, what: str, remedy: str) -> str:
    """A name that is a string with something in it."""
    if isinstance(name, str) and name:
        return name
    raise misuse(f"{shown(name)} is no name of {what}", remedy)
