"""Columns of any Arrow type as those that events can have: what is meant is kept, and what has no meaning is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING
from uuid import UUID

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy, to_numpy
from cepheid.errors import BindError, InputError
from cepheid.pattern.expressions.types import time_zone

if TYPE_CHECKING:
    import pandas as pd

DAY = 86_400_000  # milliseconds

UNREADABLE = (
    pa.ArrowException, TypeError, ValueError, OverflowError, UnicodeError, NotImplementedError, AttributeError,
)  # fmt: skip
"""What pyarrow and pandas raise where they can't make a column of values."""


def readable(table: pa.Table) -> pa.Table:
    """The same events in columns that can be matched.

    >>> readable(pa.table({"s": pa.array(["x"], pa.string_view())})).schema.types
    [DataType(string)]
    """
    if _is_readable(table.schema):
        return table
    for k, field in enumerate(table.schema):
        column = table.column(k)
        if is_checked(field.type):
            with naming(field.name):
                _check(field.name, column)
                if pa.types.is_date64(field.type) and _has_time_of_day(column):
                    column = column.cast(pa.int64()).cast(pa.timestamp("ms"))
        if (wanted := plain(column.type, field.name)) != column.type:
            with naming(field.name):
                column = as_type(column, wanted)
        if column.type != field.type:
            table = table.set_column(k, field.name, column)
    return table


@lru_cache(maxsize=64)
def _is_readable(events: pa.Schema) -> bool:
    """Whether columns are read as they are, whatever is in them."""
    return not any(is_checked(field.type) or plain(field.type, field.name) != field.type for field in events)


def readable_schema(events: pa.Schema) -> pa.Schema:
    """The schema that events of a schema are read with.

    >>> readable_schema(pa.schema([("s", pa.dictionary(pa.int8(), pa.string()))])).types
    [DictionaryType(dictionary<values=string, indices=int32, ordered=0>)]
    """
    return pa.schema([field.with_type(plain(field.type, field.name)) for field in events], events.metadata)


def is_checked(arrow: pa.DataType) -> bool:
    """Whether the values of a column of this type must be looked at: not all of them can be read."""
    return bool(pa.types.is_uint64(arrow) or pa.types.is_date64(arrow))


@contextmanager
def naming(column: str) -> Iterator[None]:
    """Add the name of the column to an error that is raised inside."""
    try:
        yield
    except UNREADABLE as error:
        raise unreadable(column, error) from None


def check_text(table: pa.Table) -> None:
    """Strings must be UTF-8, which Arrow does not look at when it is handed a buffer."""
    for field in table.schema:
        words = field.type.value_type if isinstance(field.type, pa.DictionaryType) else field.type
        if pa.types.is_string(words) or pa.types.is_large_string(words):
            try:
                table.column(field.name).validate(full=True)
            except pa.ArrowInvalid:
                message = f"column '{field.name}' has a string that is not valid UTF-8"
                remedy = f"decode it before with the encoding that it has, or make '{field.name}' a column of binary"
                raise InputError("CEP403", message, remedy) from None


@contextmanager
def telling_of_text(table: pa.Table) -> Iterator[None]:
    """Whoever finds that a string can't be read does not know its column: a look at all of them costs more."""
    try:
        yield
    except UnicodeDecodeError:
        check_text(table)
        raise


def unreadable(column: str, error: BaseException, where: str = "") -> InputError:
    """What is raised where a column can't be read."""
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    if isinstance(error, OverflowError) or "too large" in reason or "integer out of range" in reason:
        message = f"column '{column}' has an integer{where} that does not fit into a signed 64-bit integer"
        return InputError("CEP405", message, f"make '{column}' a column of decimals, floats or strings")
    if isinstance(error, UnicodeError):
        message = f"column '{column}' has a string{where} that is not valid Unicode: {reason}"
        remedy = "replace the lone surrogates: text.encode('utf-8', 'replace').decode()"
        return InputError("CEP403", message, remedy)
    message = f"column '{column}' can't be read{where}: {reason}"
    return InputError("CEP403", message, f"give '{column}' values of one type, or leave the column out")


def _check(name: str, column: pa.ChunkedArray) -> None:
    if pa.types.is_uint64(column.type):
        import pyarrow.compute as pc  # slow to import, and seldom needed

        largest = pc.max(column).as_py()
        if largest is not None and largest >= 2**63:
            message = f"{largest} in '{name}' does not fit into a signed 64-bit integer"
            raise InputError("CEP405", message, "cast the column to decimal or string")


def uuid_texts(column: pa.Array) -> pa.Array:
    """Sixteen bytes each as the text of a UUID.

    >>> uuid_texts(pa.array([bytes(range(16)), None], pa.binary(16))).to_pylist()
    ['00010203-0405-0607-0809-0a0b0c0d0e0f', None]
    """
    filled = column.fill_null(bytes(16)) if column.null_count else column
    octets = np.frombuffer(filled.buffers()[1], np.uint8, 16 * len(filled), 16 * filled.offset).reshape(-1, 16)
    digits = _DIGITS[np.stack([octets >> 4, octets & 15], axis=-1)].reshape(-1, 32)
    text = np.full((len(filled), 36), ord("-"), np.uint8)
    text[:, _PLACES] = digits
    ends = np.arange(0, 36 * len(filled) + 36, 36, dtype=np.int64)
    made = pa.Array.from_buffers(pa.large_string(), len(filled), [None, pa.py_buffer(ends), pa.py_buffer(text)])
    import pyarrow.compute as pc  # slow to import, and seldom needed

    return pc.if_else(column.is_null(), None, made).cast(pa.string())


_DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)
_PLACES = [place for place in range(36) if place not in (8, 13, 18, 23)]


def _has_time_of_day(column: pa.ChunkedArray) -> bool:
    """Arrow's dates in milliseconds are whole days, but some programs write times into them."""
    return any((to_numpy(chunk.drop_null().view(pa.int64())) % DAY).any() for chunk in column.chunks)


_VIEWS = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}


def plain(arrow: pa.DataType, name: str) -> pa.DataType:
    """The type that a column of a type is read as. name: of the column."""

    def inner(inner_type: pa.DataType) -> pa.DataType:
        return plain(inner_type, name)

    if isinstance(arrow, pa.BaseExtensionType):
        if arrow == pa.bool8():
            return pa.bool_()
        if arrow == pa.uuid():
            return pa.string()
        meant = arrow.extension_name == "arrow.json" or arrow.extension_name.startswith("pandas.")
        return inner(arrow.storage_type) if meant else arrow
    if arrow in _VIEWS:
        return _VIEWS[arrow]
    if pa.types.is_union(arrow):
        message = f"column '{name}' is a union of types, {arrow}, whose values have no order"
        raise InputError("CEP411", message, f"make a column of each type, or leave '{name}' out")
    if pa.types.is_timestamp(arrow) and arrow.tz is not None:
        _check_zone(arrow.tz, name)
    if pa.types.is_decimal(arrow) and arrow.bit_width < 128:
        return pa.decimal128(arrow.precision, arrow.scale)
    if pa.types.is_run_end_encoded(arrow):
        return inner(arrow.value_type)
    if isinstance(arrow, pa.DictionaryType):
        words = inner(arrow.value_type)
        if pa.types.is_nested(words):  # of which Arrow can't make one dictionary
            return words
        # Codes are wide enough for the words of all batches to come.
        index = arrow.index_type if arrow.index_type.bit_width >= 32 else pa.int32()
        return pa.dictionary(index, words, arrow.ordered)
    return _nested(arrow, inner)


def _nested(arrow: pa.DataType, inner: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    if pa.types.is_struct(arrow):
        return pa.struct([field.with_type(inner(field.type)) for field in arrow])
    if pa.types.is_map(arrow):
        return pa.map_(inner(arrow.key_type), inner(arrow.item_type), arrow.keys_sorted)
    for is_type, make in (
        (pa.types.is_list, pa.list_), (pa.types.is_list_view, pa.list_),
        (pa.types.is_large_list, pa.large_list), (pa.types.is_large_list_view, pa.large_list),
    ):  # fmt: skip
        if is_type(arrow):
            return make(arrow.value_field.with_type(inner(arrow.value_type)))
    if pa.types.is_fixed_size_list(arrow):
        return pa.list_(arrow.value_field.with_type(inner(arrow.value_type)), arrow.list_size)
    return arrow


def _check_zone(zone: str, name: str) -> None:
    try:
        time_zone(zone)
    except BindError:
        message = f"column '{name}' has the time zone '{zone}', which this machine does not know"
        raise InputError("CEP411", message, "convert it to a known time zone, such as UTC") from None


def as_type(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    """A column as one of another type that holds the same values."""
    return pa.chunked_array([_array_as(chunk, wanted) for chunk in column.chunks], wanted)


def _array_as(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    if pa.types.is_run_end_encoded(array.type):
        ends = to_numpy(array.run_ends.cast(pa.int64()))
        places = np.searchsorted(ends, np.arange(array.offset, array.offset + len(array)), side="right")
        return _array_as(array.values, wanted).take(from_numpy(places))
    if isinstance(array, pa.ExtensionArray):
        return uuid_texts(array.storage) if array.type == pa.uuid() else _array_as(array.storage, wanted)
    if isinstance(array, pa.DictionaryArray) and not isinstance(wanted, pa.DictionaryType):
        return _array_as(array.dictionary, wanted).take(array.indices)
    if isinstance(array, pa.DictionaryArray):
        words = array.dictionary
        words = words if words.type == wanted.value_type else _array_as(words, wanted.value_type)
        return pa.DictionaryArray.from_arrays(array.indices.cast(wanted.index_type), words, ordered=wanted.ordered)
    try:
        if _is_cast_wrongly(array.type):
            return pa.array(_written(array.to_pylist()), wanted)
        return array.cast(wanted)
    except pa.ArrowNotImplementedError:  # of nested types, Arrow casts only some
        return pa.array(array.to_pylist(), wanted)


def _is_cast_wrongly(arrow: pa.DataType) -> bool:
    """Arrow mistakes the offsets of list views, and the bytes of a UUID for its text."""
    inner = [arrow.field(k).type for k in range(arrow.num_fields)]
    here = pa.types.is_list_view(arrow) or pa.types.is_large_list_view(arrow) or arrow == pa.uuid()
    return here or any(map(_is_cast_wrongly, inner))


def _written(value: object) -> object:
    """A value with each UUID in it as text."""
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, dict):
        return {name: _written(inner) for name, inner in value.items()}
    return type(value)(map(_written, value)) if isinstance(value, list | tuple) else value


def of_pandas(frame: pd.DataFrame) -> pa.Table:
    """A table of a data frame of pandas. NaN and NaT are NULL."""
    frame = _checked_names(frame)
    for name, dtype in frame.dtypes.items():
        kind = type(dtype).__name__
        if kind == "SparseDtype":
            frame = frame.assign(**{name: frame[name].sparse.to_dense()})
        elif kind == "PeriodDtype":
            frame = frame.assign(**{name: frame[name].dt.to_timestamp()})
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except UNREADABLE as error:
        for name in frame.columns:
            with naming(name):
                pa.Array.from_pandas(frame[name])
        raise InputError(
            "CEP403", f"the events can't be read as a table: {error}", "give each column values of one type"
        ) from None


def _checked_names(frame: pd.DataFrame) -> pd.DataFrame:
    if not frame.columns.is_unique:
        twice = next(name for name in frame.columns if list(frame.columns).count(name) > 1)
        raise InputError("CEP404", f"two columns are named {twice!r}", "rename one of them")
    for name in frame.columns:
        if not isinstance(name, str):
            remedy = "rename the columns: df.columns = df.columns.map(str)"
            raise InputError("CEP404", f"the column name {name!r} is not a string", remedy)
        check_name(name)
    return frame


def check_name(name: str) -> None:
    """A name of a column must be text."""
    if not name.isascii():
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise InputError("CEP404", f"a column name is not text: {error}", "rename the column") from None
