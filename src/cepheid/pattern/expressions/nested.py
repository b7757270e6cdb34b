"""Structs, lists and maps: what can be read of them."""

from __future__ import annotations

import pyarrow as pa

from cepheid.errors import Span
from cepheid.pattern.expressions.nodes import Element, Field
from cepheid.pattern.expressions.types import Type, from_arrow, plain

_LISTS = ("is_list", "is_large_list", "is_fixed_size_list", "is_list_view", "is_large_list_view")


def field_names(type_: Type) -> list[str] | None:
    """The names of the fields of a struct; None for other types.

    >>> field_names(from_arrow(pa.struct([("x", pa.int8())])))
    ['x']
    """
    arrow = plain(type_)
    return [field.name for field in arrow] if pa.types.is_struct(arrow) else None


def field_type(type_: Type, name: str) -> Type:
    """The type of a field."""
    return from_arrow(plain(type_).field(name).type)


def is_list(arrow: pa.DataType) -> bool:
    """Whether it is a list of some kind."""
    return any(getattr(pa.types, test)(arrow) for test in _LISTS)


def value_type(type_: Type) -> Type | None:
    """The type of the elements of a list or of the values of a map; None for other types."""
    arrow = plain(type_)
    if pa.types.is_map(arrow):
        return from_arrow(arrow.item_type)
    return from_arrow(arrow.value_type) if is_list(arrow) else None


def key_type(type_: Type) -> Type | None:
    """The type of the keys of a map."""
    arrow = plain(type_)
    return from_arrow(arrow.key_type) if pa.types.is_map(arrow) else None


def span_after(node: Field | Element) -> Span | None:
    """Where a field or an index is in the text, without what it is read from."""
    whole, before = node.span, node.operand.span
    if whole is None or before is None or before.end >= whole.end:
        return whole
    return Span(whole.text, before.end + isinstance(node, Field), whole.end)
