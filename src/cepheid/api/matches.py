"""Matches: a sequence of rows that become Python, Arrow, pandas or polars when asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import pyarrow as pa

from cepheid.errors import EvaluationError, UsageError
from cepheid.pattern.bind import Bound, Result
from cepheid.pattern.durations import ARROW_UNITS
from cepheid.pattern.schema import END, START
from cepheid.pattern.types import Kind, Type, plain
from cepheid.reference import Match

if TYPE_CHECKING:
    import pandas
    import polars


_CHUNK = 1024  # matches that are made into Python objects at a time


class Matches:
    """The matches of a query, in the order of their ends (S9).

    `outputs` holds those of every query of a program by the name of its INTO; these are the last query's.
    """

    def __init__(
        self, query: Bound, table: pa.Table, found: Sequence[Match], outputs: Mapping[str, Matches] | None = None
    ) -> None:
        self._query = query
        self._table = table
        self._found = found
        self.outputs: Mapping[str, Matches] = outputs or {}

    def with_outputs(self, outputs: Mapping[str, Matches]) -> Matches:
        """These matches, with those of all queries of the program."""
        return Matches(self._query, self._table, self._found, outputs)

    def __len__(self) -> int:
        return len(self._found)

    def count(self) -> int:
        """How many matches there are (S14)."""
        return len(self._found)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, index: slice) -> Matches: ...

    def __getitem__(self, index: int | slice) -> dict[str, Any] | Matches:
        if isinstance(index, slice):
            return Matches(self._query, self._table, self._found[index], self.outputs)
        return Matches(self._query, self._table, [self._found[index]]).to_pylist()[0]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self.enumerate()

    def enumerate(self, limit: int | None = None) -> Iterator[dict[str, Any]]:
        """The first matches one by one (S14)."""
        wanted = self._found if limit is None else self._found[: max(limit, 0)]
        for k in range(0, len(wanted), _CHUNK):
            yield from Matches(self._query, self._table, wanted[k : k + _CHUNK]).to_pylist()

    def __repr__(self) -> str:
        names = ", ".join(self._query.match_schema().names)
        return f"<{len(self)} match{'es' * (len(self) != 1)}: {names}>"

    @property
    def schema(self) -> pa.Schema:
        """The columns of a match."""
        return self.to_arrow().schema if self._has_unknown_types() else self._query.match_schema()

    def _has_unknown_types(self) -> bool:
        return any(r.type.kind is Kind.ANY for r in self._query.returns)

    def to_arrow(self) -> pa.Table:
        """One row a match."""
        schema = self._query.match_schema()
        start = self._query.schema.start or self._query.schema.roles.time
        columns = {
            START: self._take(start, [m.start for m in self._found]),
            END: self._take(self._query.schema.roles.time, [m.end for m in self._found]),
        }
        if self._query.returns:
            for k, result in enumerate(self._query.returns):
                columns[result.name] = _returned(result, [m.values[k] for m in self._found])
            return pa.table(columns)
        for component in self._query.positive:
            rows = [m.rows.get(component.variable) for m in self._found]
            columns[component.variable] = self._lists(rows) if component.array else self._one(rows)
        return pa.table(columns, schema=schema)

    def _take(self, column: str, rows: list[int]) -> pa.ChunkedArray:
        return self._table.column(column).take(pa.array(rows, pa.int64()))

    def _structs(self, rows: list[int | None]) -> pa.StructArray:
        taken = self._table.select(list(self._query.schema.columns)).take(pa.array(rows, pa.int64()))
        arrays = [_combine(column) for column in taken.columns]
        mask = pa.array([row is None for row in rows], pa.bool_())
        return pa.StructArray.from_arrays(arrays, fields=list(self._query.schema.arrow), mask=mask)

    def _one(self, rows: Sequence[tuple[int, ...] | None]) -> pa.Array:
        return self._structs([r[0] if r else None for r in rows])

    def _lists(self, rows: Sequence[tuple[int, ...] | None]) -> pa.Array:
        """An array that bound nothing is empty where its repetition was passed, NULL where it was not reached."""
        flat: list[int | None] = [row for found in rows for row in found or ()]
        offsets, at = [], 0
        for found in rows:
            offsets.append(None if found is None else at)
            at += len(found or ())
        return pa.ListArray.from_arrays(pa.array([*offsets, at], pa.int32()), self._structs(flat))

    def to_pylist(self) -> list[dict[str, Any]]:
        """A dict per match: `match_start`, `match_end`, and the variables or the RETURN columns."""
        try:
            return [dict(row) for row in self.to_arrow().to_pylist()]
        except (
            ValueError,
            OverflowError,
        ) as error:  # Python's datetime ends at microseconds and at the year 9999, pandas' does not
            raise UsageError("CEP602", str(error), "pip install 'cepheid[pandas]', or use to_arrow()") from None

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas DataFrame; needs pandas."""
        _require("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """A polars DataFrame; needs polars."""
        _require("polars")
        import polars

        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame


def _require(package: str) -> None:
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise UsageError("CEP602", f"{package} is not installed", f"pip install 'cepheid[{package}]'")


def _combine(column: pa.ChunkedArray) -> pa.Array:
    combined = column.combine_chunks()
    return combined if isinstance(combined, pa.Array) else combined.chunk(0)


def _returned(result: Result, values: list[Any]) -> pa.Array:
    """A RETURN column; times were computed as integers."""
    kind, arrow = result.type.kind, plain(result.type)
    try:
        if isinstance(result.type.arrow, pa.DictionaryType):
            undone = Result(result.name, result.expression, Type(kind, arrow))
            return _returned(undone, values).dictionary_encode().cast(result.type.arrow)
        if kind is Kind.ANY:
            return pa.array(values)
        if kind in (Kind.TIMESTAMP, Kind.DURATION):
            scale = ARROW_UNITS[arrow.unit]
            return pa.array([None if v is None else v // scale for v in values], pa.int64()).cast(arrow)
        if kind is Kind.DATE:
            return pa.array(values, pa.int32()).cast(pa.date32()).cast(arrow)
        return pa.array(values, arrow)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError) as error:
        remedy = "return values of one type, within the range of that type"
        raise EvaluationError("CEP502", f"column '{result.name}' can't be made: {error}", remedy) from None
