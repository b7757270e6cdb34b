"""Whether a column of a later batch fits the type that it has in the first one of a session."""

from __future__ import annotations

import pyarrow as pa

from cepheid.errors import InputError
from cepheid.pattern.expressions.nested import is_list
from cepheid.pattern.expressions.types import Kind, from_arrow, zone_of

_WIDER = {(Kind.INT, Kind.FLOAT), (Kind.INT, Kind.DECIMAL)}


def check_fits(name: str, wanted: pa.DataType, actual: pa.DataType) -> None:
    """Raise if values would be lost, also inside of structs, lists and maps. A field that is not there is NULL."""
    first, later = from_arrow(wanted), from_arrow(actual)
    zones = {zone_of(first) is None, zone_of(later) is None}
    alike = later.kind is first.kind and len(zones) == 1
    if not (alike or later.kind is Kind.NULL or (later.kind, first.kind) in _WIDER):
        remedy = "give every batch the column types of the first; Arrow tables of one schema ensure that"
        raise InputError("CEP409", f"the batch has '{name}' as {later}, the first one as {first}", remedy)
    if pa.types.is_struct(wanted) and pa.types.is_struct(actual):
        _check_fields(name, wanted, actual)
    elif is_list(wanted) and is_list(actual):
        check_fits(f"{name}[]", wanted.value_type, actual.value_type)
    elif pa.types.is_map(wanted) and pa.types.is_map(actual):
        check_fits(f"{name}[]", wanted.item_type, actual.item_type)


def _check_fields(name: str, wanted: pa.StructType, actual: pa.StructType) -> None:
    known = {field.name: field.type for field in wanted}
    added = sorted({field.name for field in actual} - known.keys())
    if added:
        names = ", ".join(f"'{name}.{field}'" for field in added)
        message = f"the batch adds {names}, a field that '{name}' of the first one does not have"
        remedy = f"give the structs of the first batch all fields, as NULL where there is no value: {', '.join(added)}"
        raise InputError("CEP409", message, remedy)
    for field in actual:
        check_fits(f"{name}.{field.name}", known[field.name], field.type)
