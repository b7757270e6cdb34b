"""The register of an automaton: the types of its fields (S18)."""

from __future__ import annotations

from cepheid.pattern.expressions.casts import cast_type, read_type_name
from cepheid.pattern.expressions.types import FLOAT, INT, Kind, Type, duration

REGISTER, EVENT, FIRST, LAST = "r", "e", "first", "last"
"""What arcs, RETURN and HAVING read: the register, the event at hand, the first and the last event of a match."""
_INTERVAL = "INTERVAL"


def read_slot_type(text: str) -> str:
    """The canonical name of the type of a field; raises ValueError with what to write instead.

    >>> read_slot_type("integer"), read_slot_type("interval")
    ('INT', 'INTERVAL')
    """
    return _INTERVAL if text.strip().upper() in (_INTERVAL, "DURATION") else read_type_name(text)


def slot_type(name: str, zone: str | None) -> Type:
    """The type that a canonical name stands for. Integers have 64 bits, and a float is a double (S3a)."""
    if name == _INTERVAL:
        return duration()
    type_ = cast_type(name, zone)
    return {Kind.INT: INT, Kind.FLOAT: FLOAT}.get(type_.kind, type_)
