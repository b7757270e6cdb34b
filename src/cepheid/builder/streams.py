"""The streams that a query reads, as Python values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cepheid.builder.misuse import check_name, misuse
from cepheid.builder.placing import BuiltQuery
from cepheid.pattern.tree.nodes import FromStream

_REMEDY = "write from_('readings', 'Shelf', 'Exit'), or from_({'readings': ['Shelf'], 'Alert': []})"


def read_streams(
    streams: str | BuiltQuery | Sequence[str] | Mapping[str, Sequence[str] | None], types: tuple[str, ...]
) -> tuple[FromStream, ...]:
    """One stream with its types, a list of streams, or a dict of streams and their types; None stands for all types."""
    if isinstance(streams, list | tuple | Mapping):
        if types or not streams:
            message = "types of several streams belong to their names" if types else "from_ needs a stream"
            raise misuse(message, _REMEDY)
        listed: Mapping[str, Sequence[str] | None] = (
            streams if isinstance(streams, Mapping) else dict.fromkeys(streams, ())
        )
        if len(listed) < len(streams):
            raise misuse("from_ names a stream twice", _REMEDY)
        return tuple(_stream(name, seen) for name, seen in listed.items())
    return (_stream(streams, types),)


def _stream(name: object, types: Sequence[str] | None) -> FromStream:
    types = () if types is None else types
    if isinstance(types, str) or not isinstance(types, Iterable):
        raise misuse(f"{types!r} is not a list of types", _REMEDY)
    checked = tuple(check_name(type_, "a type", _REMEDY) for type_ in types)
    if isinstance(name, BuiltQuery):
        name = name._stream_name() or name
    return FromStream(check_name(name, "a stream", "write from_('Alert')"), checked)
