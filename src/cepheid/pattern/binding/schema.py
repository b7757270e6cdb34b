"""The schema that a query is bound to: the columns of the events, and which of them are time and type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from cepheid.errors import BindError, InputError, did_you_mean
from cepheid.pattern.expressions.durations import ARROW_UNITS, NANOSECONDS
from cepheid.pattern.expressions.paths import Path, StructField
from cepheid.pattern.expressions.types import Kind, Type, from_arrow, plain

START = "match_start"
END = "match_end"
MATCH_ID = "match_id"


@dataclass(frozen=True, slots=True)
class Roles:
    """The roles of columns, as passed to the query."""

    time: str = "ts"
    type: str | None = "type"
    order_by: tuple[str, ...] = ()
    types: Mapping[str, tuple[str, ...]] | None = None  # the attributes of each declared type (S3)
    unit: str = "milliseconds"  # of an integer time column
    start: str | None = None  # the column with the start of events that last (S19)


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a stream by name, in order, and their roles.

    parts: fields of structs that a query reads as keys, by a name that no column has.
    streams: the columns of each stream, where several are merged; "" is the input.
    origins: where columns of derived streams come from: a stream, and a column of it.
    copies: columns of composite events that are known to have the key of their events, each with the column of that.
    constants: columns of a joined stream that no event has: those of its rules.
    """

    columns: Mapping[str, Type]
    roles: Roles
    start: str | None = None  # the column with the start of composite events (S13)
    parts: Mapping[str, StructField] = field(default_factory=dict)
    streams: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    copies: Mapping[str, str] = field(default_factory=dict)
    origins: Mapping[str, tuple[str | None, str]] = field(default_factory=dict)
    constants: frozenset[str] = frozenset()

    @property
    def arrow(self) -> pa.Schema:
        """As an Arrow schema."""
        return pa.schema([(name, column.arrow) for name, column in self.columns.items()])

    @property
    def tick(self) -> int:
        """The nanoseconds of one unit of the time column."""
        column = self.columns[self.roles.time]
        if column.kind is Kind.DATE:
            return NANOSECONDS["days"]
        return ARROW_UNITS[plain(column).unit] if column.kind is Kind.TIMESTAMP else NANOSECONDS[self.roles.unit]

    def path(self, name: str) -> Path:
        """The way to what a column, or a part of one, has."""
        return self.parts[name].path if name in self.parts else (name,)

    def has(self, event_type: str | None, attribute: str) -> bool:
        """Whether events of a type have an attribute: missing is not NULL (S3)."""
        if self.roles.types is None or event_type is None or event_type not in self.roles.types:
            return True
        return self.path(attribute)[0] in (self.roles.time, self.roles.type, *self.roles.types[event_type])


def make_schema(arrow: pa.Schema, roles: Roles, start: str | None = None) -> Schema:
    """Check the columns and their roles."""
    columns: dict[str, Type] = {}
    for column in arrow:
        if not column.name:
            raise InputError("CEP404", "a column has an empty name", "name every column of the events")
        if column.name in columns:
            raise InputError("CEP404", f"two columns are named '{column.name}'", "rename one of them")
        columns[column.name] = from_arrow(column.type)
    _check_time(columns, roles)
    _check_type(columns, roles)
    if start is None and roles.start is not None:
        _check_start(columns, roles)
        start = roles.start
    for name in roles.order_by:
        _require(name, columns, "CEP301", f"order_by names '{name}', which is not a column of the events")
    for type_name, attributes in (roles.types or {}).items():
        for name in attributes:
            message = f"types gives {type_name} the attribute '{name}', which is not a column of the events"
            _require(name, columns, "CEP301", message)
    return Schema(columns, roles, start)


def _require(name: str, columns: Mapping[str, Type], code: str, message: str, more: str = "") -> Type:
    if name not in columns:
        raise BindError(code, message, did_you_mean(name, columns, "columns") + more)
    return columns[name]


def _check_time(columns: Mapping[str, Type], roles: Roles) -> None:
    message = f"the events have no time column '{roles.time}'"
    found = _require(roles.time, columns, "CEP309", message, "; name the time column with time=")
    if found.kind not in (Kind.INT, Kind.TIMESTAMP, Kind.DATE, Kind.NULL):
        raise BindError(
            "CEP309",
            f"the time column '{roles.time}' is {found}, not a timestamp, a date or an integer",
            "cast it to a timestamp, or to an integer in milliseconds (or in the unit given with unit=)",
        )


def _check_start(columns: Mapping[str, Type], roles: Roles) -> None:
    message = f"the events have no start column '{roles.start}'"
    found = _require(str(roles.start), columns, "CEP309", message, "; name the start column with start=")
    time = columns[roles.time]
    if (
        plain(found) != plain(time)
        and Kind.NULL not in (found.kind, time.kind)
        and not found.kind is time.kind is Kind.INT
    ):
        remedy = f"cast it to the type of '{roles.time}'"
        raise BindError(
            "CEP309", f"the start column '{roles.start}' is {found}, the time '{roles.time}' is {time}", remedy
        )


def _check_type(columns: Mapping[str, Type], roles: Roles) -> None:
    if roles.type is None:
        return
    message = f"the events have no type column '{roles.type}'"
    more = "; name the type column with type=, or pass type=None for a stream of one type"
    found = _require(roles.type, columns, "CEP310", message, more)
    if found.kind not in (Kind.STRING, Kind.NULL):
        remedy = "cast it to strings, such as the type names in the query"
        raise BindError("CEP310", f"the type column '{roles.type}' is {found}, not string", remedy)


def output_names(names: Sequence[str]) -> str | None:
    """The first name that two columns of a match would share, if any."""
    seen = {START, END}
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
