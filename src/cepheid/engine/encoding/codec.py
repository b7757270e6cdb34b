"""Column values as JSON. Snapshots store the keys of partitions in this form."""

from __future__ import annotations

from decimal import Decimal

from cepheid.values.value import Value


def encode(value: Value) -> Value:
    """A value that JSON can carry.

    >>> decode(encode((1, None, Decimal("1.50"), b"x", ("a", 2.5))))
    (1, None, Decimal('1.50'), b'x', ('a', 2.5))
    """
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Decimal():
            return {"decimal": str(value)}
        case bytes():
            return {"bytes": value.hex()}
        case tuple():
            return [encode(item) for item in value]
    raise TypeError(f"no encoding for a {type(value).__name__}")


def decode(value: Value) -> Value:
    """The value that was encoded."""
    match value:
        case {"decimal": text}:
            return Decimal(text)
        case {"bytes": text}:
            return bytes.fromhex(text)
        case list():
            return tuple(decode(item) for item in value)
    return value
