"""Reads events in any supported form as one Arrow table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from os import PathLike, fspath

import pyarrow as pa

from cepheid.api.readable import UNREADABLE, check_name, naming, of_pandas, readable, unreadable
from cepheid.errors import InputError, UsageError

_FORMS = "a pyarrow Table, RecordBatchReader or Dataset, a pandas or polars DataFrame, or a list of dicts"
_ACCEPTED = f"pass {_FORMS}, or the path of a file"
_LONGEST_SHOWN = 60


def to_table(
    events: object, type_column: str | None = None, column: Callable[[str, list[object]], pa.Array] | None = None
) -> pa.Table:
    """Read the events. type_column: read as text from a CSV file. column: how one of a list of dicts is read.

    >>> to_table([{"ts": 1, "type": "A"}, {"ts": 2, "type": "B", "x": 1.5}]).column_names
    ['ts', 'type', 'x']
    """
    return readable(_read(events, type_column, column or column_of))


def _read(events: object, type_column: str | None, column: Callable[[str, list[object]], pa.Array]) -> pa.Table:
    if isinstance(events, pa.Table):
        return events
    if isinstance(events, pa.RecordBatch):
        return pa.Table.from_batches([events])
    if _package(events) == "pyspark":
        remedy = "use q.match(df), also for a stream; or collect it for a session in memory: df.toArrow()"
        raise UsageError("CEP601", "a session can't read a Spark DataFrame", remedy)
    if isinstance(events, str | PathLike):
        return _of_path(events, type_column)
    if type(events).__module__ == "pyarrow._dataset":
        return _of_dataset(events)
    if _package(events) == "pandas" and hasattr(events, "columns"):
        return of_pandas(events)
    if hasattr(events, "collect_schema") and hasattr(events, "collect"):  # a polars LazyFrame
        events = events.collect()
    if _package(events) == "polars":
        _check_objects(events)
    try:
        if isinstance(events, pa.RecordBatchReader):
            return events.read_all()
        if hasattr(events, "__arrow_c_stream__") and hasattr(events, "columns"):
            return pa.table(events)
    except UNREADABLE as error:
        _name_culprit(events)
        remedy = "give each column values of one type"
        raise InputError("CEP403", f"the events can't be read as a table: {error}", remedy) from None
    if isinstance(events, Mapping | bytes) or not isinstance(events, Iterable):
        shown = type(events).__name__
        raise InputError("CEP401", f"a {shown} is not a stream of events", _ACCEPTED)
    return _from_rows(list(events), column)


def _is_path(text: str) -> bool:
    from cepheid.api.files.read_files import looks_like_path

    return looks_like_path(text)


def _of_path(path: str | PathLike[str], type_column: str | None) -> pa.Table:
    from cepheid.api.files.read_files import read_files  # the readers take a while to import

    text = fspath(path)
    if isinstance(path, str) and not _is_path(text):
        shown = repr(text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…")
        message = f"{shown} is neither events nor the path of a file of events"
        raise InputError("CEP401", message, f"pass the path of a Parquet, CSV or JSON lines file, or {_FORMS}")
    return read_files(text, type_column)


def _of_dataset(events: pa.dataset.Dataset) -> pa.Table:
    """The rows of a dataset of pyarrow, or of a scanner of one, which has chosen columns and rows."""
    try:
        return events.to_table()
    except (pa.ArrowException, OSError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InputError("CEP406", f"the dataset can't be read: {reason}", "check its files and its schema") from None


def _check_objects(frame: object) -> None:
    """What polars hands on of a column of Python objects is where they are in memory."""
    for name, dtype in getattr(frame, "schema", {}).items():
        if str(dtype) == "Object":
            remedy = f"convert it to a type of polars, or leave it out: df.drop({name!r})"
            raise InputError("CEP403", f"column '{name}' has Python objects, which can't be read", remedy)


def _name_culprit(frame: object) -> None:
    """Raise what is wrong with the first column of a data frame that can't be read alone."""
    if hasattr(frame, "select") and hasattr(frame, "columns"):
        for name in frame.columns:
            with naming(name):
                pa.table(frame.select(name))


def _package(events: object) -> str:
    return type(events).__module__.split(".")[0]


def _from_rows(rows: list[object], column: Callable[[str, list[object]], pa.Array]) -> pa.Table:
    names: dict[str, None] = {}
    for number, row in enumerate(rows):
        if isinstance(row, PathLike) or (isinstance(row, str) and _is_path(row)):
            remedy = "pass a folder, a pattern such as 'events/*.csv', or pyarrow.dataset.dataset([…]) of several files"
            raise InputError("CEP401", f"row {number} is the path {fspath(row)!r}, not a dict", remedy)
        if not isinstance(row, Mapping):
            shown = repr(row)[:60]
            raise InputError("CEP401", f"row {number} is {type(row).__name__} {shown}, not a dict", _ACCEPTED)
        for name in row:
            if not isinstance(name, str):
                remedy = "use strings as keys"
                raise InputError("CEP404", f"row {number} has the key {name!r}, which is not a string", remedy)
            if name not in names:
                check_name(name)
                names[name] = None
    columns = {name: column(name, [row.get(name) for row in rows]) for name in names}  # type: ignore[attr-defined]
    return pa.table(columns)


def column_of(name: str, values: list[object]) -> pa.Array:
    """Python values as a column."""
    # pandas' NaT does not equal itself.
    values = [None if isinstance(value, datetime) and value != value else value for value in values]
    zones = {value.utcoffset() for value in values if isinstance(value, datetime)}
    if None in zones and len(zones) > 1:
        remedy = "give all of them a time zone, or none"
        raise InputError("CEP403", f"column '{name}' has datetimes with and without a time zone", remedy)
    try:
        # Arrow would take the zone of whichever row comes first.
        return pa.array(values, pa.timestamp("us", tz="UTC")) if len(zones) > 1 else pa.array(values)
    except UNREADABLE as error:
        row, value = _culprit(values)
        too_long = isinstance(value, int) and not -(2**63) <= value < 2**63
        if too_long or (isinstance(value, str) and isinstance(error, UnicodeError)):
            raise unreadable(name, error, f" in row {row}, {value!r},") from None
        raise InputError(
            "CEP403",
            f"column '{name}' can't hold {value!r} of row {row}: {str(error).splitlines()[0]}",
            f"give '{name}' values of one type in all rows",
        ) from None


def _culprit(values: list[object]) -> tuple[int, object]:
    """The first value that does not fit into a column with the values before it."""
    low, high = 0, len(values)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            pa.array(values[:middle])
            low = middle
        except UNREADABLE:
            high = middle
    return low, values[low]
