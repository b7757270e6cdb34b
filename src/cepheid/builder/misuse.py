"""The error for wrong Python arguments, and the check of names."""

from __future__ import annotations

from reprlib import Repr

from cepheid.errors import UsageError

_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = 80


def shown(value: object) -> str:
    """A value as an error shows it: shortened if it is long."""
    return _SHORT.repr(value)


def misuse(message: str, remedy: str) -> UsageError:
    """The error for a wrong use of the builder."""
    return UsageError("CEP604", message, remedy)


def check_name(name: object, what: str, remedy: str) -> str:
    """The name, if it is a string that is not empty."""
    if isinstance(name, str) and name:
        return name
    raise misuse(f"{shown(name)} can't be the name of {what}", remedy)
