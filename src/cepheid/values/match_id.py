"""The identifier of a match: the same wherever the match is found, since it depends on its events alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from hashlib import blake2b

from cepheid.pattern.expressions.parameters import literal
from cepheid.values.value import Value

BYTES = 16


def event_digest(values: Mapping[str, Value], columns: Iterable[str]) -> bytes:
    """What stands for an event: its columns by name. Times count in nanoseconds, whatever the unit of a column."""
    text = "".join(f"{content_text(name)}{content_text(values[name])}" for name in sorted(columns))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=BYTES).digest()


def match_digest(variables: Iterable[tuple[str, Iterable[bytes]]]) -> str:
    """The identifier of a match, from the digests of the events of each variable, in the order of the text.

    >>> match_digest([("a", [event_digest({"ts": 1, "x": 2.5}, ["ts", "x"])]), ("b", [])])
    '0d53161a819e7cc080e21ab8f2744523'
    """
    whole = blake2b(digest_size=BYTES)
    for name, events in variables:
        digests = list(events)
        if digests:
            whole.update(f"{content_text(name)}{len(digests)}:".encode("utf-8", "surrogatepass"))
            whole.update(b"".join(digests))
    return whole.hexdigest()


def content_text(value: Value) -> str:
    """A value as text that no other value of its column has."""
    match value:
        case None:
            return "n"
        case bool() | int():
            return f"i{int(value)};"
        case float():
            return f"f{value!r};"
        case str():
            return f"s{len(value)}:{value}"
        case bytes():
            return f"x{value.hex()};"
        case Decimal():
            return f"d{value.normalize():f};"
        case datetime() | date() | timedelta():  # inside of a nested value
            return f"i{literal(value).value};"
        case dict():
            return f"{{{''.join(content_text(name) + content_text(item) for name, item in sorted(value.items()))}}}"
        case list() | tuple():
            return f"[{''.join(map(content_text, value))}]"
    return f"?{value!r};"
