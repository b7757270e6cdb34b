"""Matches: a sequence of rows that become Python, Arrow, pandas or polars when asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.few_events import Events, as_table
from cepheid.engine.encoding.times import ticks
from cepheid.engine.matches.event_output import write_matches, write_times
from cepheid.engine.matches.graph_matches import GraphMatches
from cepheid.engine.matches.long_form import EVENTS, write_events, write_long
from cepheid.engine.matches.match_columns import MatchColumns
from cepheid.engine.matches.match_table import LazyMatches, MatchTable, first_of, returned
from cepheid.engine.matches.pandas_frame import to_frame
from cepheid.engine.matches.shown import HTML_ROWS, ROWS, as_html, as_text
from cepheid.engine.matches.timeline import MATCHES as MOST
from cepheid.engine.matches.timeline import make_timeline, scale_of
from cepheid.errors import CepheidError, EvaluationError, UsageError
from cepheid.front.runnable import Result, Runnable
from cepheid.pattern.binding.schema import END, START
from cepheid.pattern.expressions.durations import ARROW_UNITS
from cepheid.pattern.expressions.types import Kind, Type, from_arrow, plain
from cepheid.pictures import Picture, Timeline, draw_timeline, to_chart
from cepheid.values.value import Value

if TYPE_CHECKING:
    import pandas
    import polars


_TIMES = (Kind.TIMESTAMP, Kind.DURATION, Kind.DATE)
_CHUNK = 1024  # matches that are made into Python objects at a time


class Matches:
    """The matches of a query, in the order of their ends (S9).

    `outputs` holds those of every query of a program by the name of its INTO; these are the last query's.
    """

    def __init__(
        self,
        query: Runnable,
        events: Events,
        found: MatchTable | LazyMatches,
        outputs: Mapping[str, Matches] | None = None,
    ) -> None:
        self._query = query
        self._events = events
        self._source = found
        self._made: MatchColumns | None = None
        self.outputs: Mapping[str, Matches] = outputs or {}

    @property
    def _table(self) -> pa.Table:
        return as_table(self._events)

    @property
    def _found(self) -> MatchTable:
        table = self._source = self._source.all()
        return table

    @property
    def _columns(self) -> MatchColumns:
        if self._made is None:
            self._made = self._source.columns(len(self._query.positive))
        return self._made

    def with_outputs(self, outputs: Mapping[str, Matches]) -> Matches:
        """These matches, with those of all queries of the program."""
        return Matches(self._query, self._events, self._source, outputs)

    # For those who compare matches.

    @property
    def query(self) -> Runnable:
        """Their query, bound to its events."""
        return self._query

    @property
    def table(self) -> pa.Table:
        """Their events, and others that the query has seen."""
        return self._table

    @property
    def found(self) -> MatchTable:
        """Which rows of the events each has; all of them are enumerated."""
        return self._found

    def ends(self) -> np.ndarray:
        """When each ends, in ticks of the time column."""
        _, ends = write_times(self._query.schema, self._table, self._columns)
        end_times: np.ndarray = ticks(self._query.schema, pa.table({END: ends}), END)
        return end_times

    def bound(self) -> int:
        """How many there are at most, found without enumerating them."""
        return self._source.bound()[0]

    def with_found(self, matched: MatchTable, events: Events | None = None) -> Matches:
        """Other matches of the query, of these events or of others."""
        return Matches(self._query, self._events if events is None else events, matched)

    def __len__(self) -> int:
        return self._source.size()

    def count(self) -> int:
        """How many matches there are, exactly, without enumerating them (S14)."""
        return self._source.count()

    @overload
    def __getitem__(self, index: int) -> dict[str, Value]: ...

    @overload
    def __getitem__(self, index: slice) -> Matches: ...

    def __getitem__(self, index: int | slice) -> dict[str, Value] | Matches:
        wanted = range(len(self))[index]  # also checks the index
        if isinstance(wanted, range):
            return Matches(self._query, self._table, self._found.take(np.array(wanted, np.int64)), self.outputs)
        return Matches(self._query, self._table, self._found.take(np.array([wanted], np.int64))).to_pylist()[0]

    def __iter__(self) -> Iterator[dict[str, Value]]:
        return self.enumerate()

    def enumerate(self, limit: int | None = None) -> Iterator[dict[str, Value]]:
        """The first matches one by one, made as they are asked for (S14)."""
        emitted = 0
        for part in self._source.batches(_CHUNK):
            rows = Matches(self._query, self._table, part).to_pylist()
            if limit is not None and emitted + len(rows) >= limit:
                yield from rows[: max(limit - emitted, 0)]
                return
            yield from rows
            emitted += len(rows)

    def head(self, limit: int) -> Matches:
        """At most so many, those that come first."""
        wanted = max(limit, 0)
        first_matches = first_of(self._source.batches(min(_CHUNK, wanted)) if wanted else (), wanted)
        return Matches(self._query, self._events, first_matches, self.outputs)

    def __repr__(self) -> str:
        first = self._first(ROWS)
        if first is None:
            return f"<{self._counted}: {', '.join(self._query.match_schema().names)}>"
        return as_text(f"<{self._counted}>", first, more=self._has_more(ROWS))

    def _repr_html_(self) -> str:
        first = self._first(HTML_ROWS)
        if first is None:
            return f"<p>{escape(repr(self))}</p>"
        shown = as_html(self._counted, first, more=self._has_more(HTML_ROWS))
        return shown + self.timeline().svg

    def timeline(self, n: int = 5, *, value: str | bool = True) -> Picture:
        """The first n matches on a time axis, as a picture that notebooks show and `save` writes.

        Partitioning are the keys of the query. A match is a band with its events, an absence is hatched, other events
        are grey.

        value: the column that is drawn as a line; by default the one that conditions compare most often. False: none.
        """
        return draw_timeline(self.on_time_axis(n, value))

    def plot(self, n: int = 5, *, value: str | bool = True) -> Any:
        """The same as an Altair chart, with tooltips; needs altair."""
        require("altair", "plot")
        return to_chart(self.on_time_axis(n, value))

    def on_time_axis(self, n: int, value: str | bool = True) -> Timeline:
        """What `timeline` and `plot` draw, as values."""
        wanted: object = n  # a caller may pass anything
        if not isinstance(wanted, int) or isinstance(wanted, bool) or wanted < 1:
            raise UsageError("CEP603", f"n can't be {n!r}", "pass how many matches are to be drawn, 1 or more")
        first_matches = self._source.few(min(n, MOST))
        if first_matches is None:
            why = "which come first is known when all are enumerated: draw those of a narrower query, or of limit="
            return Timeline(self._counted, scale_of(self._query.schema), notes=(why,))
        if not len(first_matches):
            count = self._table.num_rows
            return Timeline(f"no match in {count:,} event{'s' * (count != 1)}", scale_of(self._query.schema))
        more = self._source.bound()[0] - len(first_matches)
        title = self._counted if more <= 0 else f"{self._counted}, the first {len(first_matches)}"
        made = make_timeline(self._query, self._table, first_matches, title, value)
        cut = (f"at most {MOST} matches are drawn",) if more > 0 and n > MOST else ()
        return replace(made, notes=(*made.notes, *cut))

    @property
    def _counted(self) -> str:
        """How many there are, in words."""
        number, exact = self._source.bound()
        return f"{'' if exact else 'at most '}{number:,} match{'es' * (number != 1)}"

    def _has_more(self, shown: int) -> bool:
        return self._source.bound()[0] > shown

    def _first(self, wanted: int) -> pa.Table | None:
        """The first matches; None if there are none, or if they can't be shown without making very many."""
        try:
            first_matches = self._source.few(wanted)
            return (
                Matches(self._query, self._table, first_matches).to_arrow()
                if first_matches is not None and len(first_matches)
                else None
            )
        except CepheidError:  # such as one of a user's function: whoever asks for the matches gets it
            return None

    @property
    def schema(self) -> pa.Schema:
        """The columns of a match."""
        return self.to_arrow().schema if self._has_unknown_types() else self._query.match_schema()

    def _has_unknown_types(self) -> bool:
        return any(r.type.kind is Kind.ANY for r in self._query.returns)

    def to_arrow(self) -> pa.Table:
        """One row a match."""
        query, table, matched = self._query, self._table, self._columns
        if not query.returns and not query.made:
            return write_matches(query, table, matched)
        made = returned(query, table, self._source, matched)
        columns = dict(zip((START, END), write_times(query.schema, table, matched), strict=True))
        for result in query.returns:
            column = made[result.name]
            columns[result.name] = as_column(result, column) if isinstance(column, list) else column
        return pa.table(columns)

    def to_long(self) -> pa.Table:
        """One row for each event of a match: `match_id`, `variable`, `index` (from 1), and the columns of the event.

        It is what SQL calls ALL ROWS PER MATCH. The columns of RETURN are not in it.
        """
        if self._query.made:
            message = "a result of CESAR is one row, and has no events"
            raise UsageError("CEP612", message, "use to_arrow(); a PATTERN has the events of its matches")
        return write_long(self._query, self._table, self._found)

    def to_events(self, type_: pa.DataType) -> pa.Table:
        """One row a match: its times, and all its events in one column; NULL where results have no events.

        type_: of that column.
        """
        query, table = self._query, self._table
        times = dict(zip((START, END), write_times(query.schema, table, self._columns), strict=True))
        made = pa.nulls(len(self), type_) if query.made else write_events(query, table, self._found, type_)
        return pa.table({**times, EVENTS: made})

    def to_batches(self, size: int = 65_536) -> Iterator[pa.Table]:
        """The matches as tables of at most so many, made as they are asked for."""
        for part in self.parts(size):
            yield part.to_arrow()

    def parts(self, size: int = 65_536) -> Iterator[Matches]:
        """The matches in parts of at most so many, made as they are asked for."""
        for part in self._source.batches(size):
            if len(part):
                yield Matches(self._query, self._table, part)

    def starting(self, within: range) -> Matches:
        """The matches that start at one of these ticks of the time column."""
        schema = self._query.schema
        starts, _ = write_times(schema, self._table, self._columns)
        times = ticks(schema, pa.table({START: starts}), START)
        wanted = np.flatnonzero((times >= within.start) & (times < within.stop))
        return Matches(self._query, self._table, self._found.take(wanted), self.outputs)

    def to_pylist(self) -> list[dict[str, Value]]:
        """A dict per match: `match_start`, `match_end`, and the variables or the RETURN columns."""
        try:
            return [dict(row) for row in self.to_arrow().to_pylist()]
        except OverflowError as error:  # Python's datetime ends at the year 9999
            message = f"a match has a time that is out of the range of Python's datetime: {error}"
            raise UsageError("CEP612", message, "use to_arrow()") from None
        except UnicodeDecodeError as error:  # in a column that the query does not read
            message = f"a match has a string that is not valid UTF-8: {error}"
            raise UsageError("CEP612", message, "use to_arrow(), or decode the strings of the events before") from None
        except ValueError as error:  # Python's datetime ends at microseconds, pandas' does not
            raise UsageError("CEP602", str(error), "pip install 'cepheid[pandas]', or use to_arrow()") from None

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas DataFrame; needs pandas."""
        require("pandas")
        return to_frame(self.to_arrow())

    def to_polars(self) -> polars.DataFrame:
        """A polars DataFrame; needs polars."""
        require("polars")
        import polars

        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame


def require(package: str, extra: str | None = None) -> None:
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise UsageError("CEP602", f"{package} is not installed", f"pip install 'cepheid[{extra or package}]'")


def as_column(result: Result, values: list[Value]) -> pa.Array:
    """A RETURN column; times were computed as integers."""
    kind, arrow = result.type.kind, plain(result.type)
    try:
        if isinstance(result.type.arrow, pa.DictionaryType):
            undone = Result(result.name, result.expression, Type(kind, arrow))
            return as_column(undone, values).dictionary_encode().cast(result.type.arrow)
        if kind is Kind.ANY:
            return pa.array(values)
        if kind in (Kind.TIMESTAMP, Kind.DURATION):
            scale = ARROW_UNITS[arrow.unit]
            return pa.array([None if v is None else v // scale for v in values], pa.int64()).cast(arrow)
        if kind is Kind.DATE:
            return pa.array(values, pa.int32()).cast(pa.date32()).cast(arrow)
        if pa.types.is_list(arrow) and from_arrow(arrow.value_type).kind in _TIMES:
            return _lists(result, values)
        return pa.array(values, arrow)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError) as error:
        remedy = "return values of one type, within the range of that type"
        raise EvaluationError("CEP502", f"column '{result.name}' can't be made: {error}", remedy) from None


def _lists(result: Result, values: list[Value]) -> pa.Array:
    """Lists of times: those of `collect` are integers, too; a column has Python's own values."""
    arrow = result.type.arrow
    items = [item for value in values if value is not None for item in value]
    if not any(isinstance(item, int) for item in items):
        return pa.array(values, arrow)
    items_array = as_column(Result(result.name, result.expression, from_arrow(arrow.value_type)), items)
    offsets: list[int | None] = [0]
    for value in values:
        offsets.append(offsets[-1] + len(value or ()))  # type: ignore[operator]
    ends = [None if value is None else start for value, start in zip(values, offsets, strict=False)]
    return pa.ListArray.from_arrays(pa.array([*ends, offsets[-1]], pa.int32()), items_array).cast(arrow)


def count_some(matches: Matches, seconds: float) -> tuple[int, bool]:
    """How many matches there are, and whether these are all: where it takes long, only the first are counted."""
    source = matches._source
    return source.count_some(seconds) if isinstance(source, GraphMatches) else (matches.count(), True)
