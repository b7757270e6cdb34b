"""Options that several commands share: how a query reads its events."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps

import click
import pyarrow as pa

from cepheid.api import Queries, Query
from cepheid.pattern.tree.nodes import Program


@dataclass(frozen=True, slots=True)
class Settings:
    """The arguments of `cepheid.Query` besides the query."""

    time: str
    type: str | None
    order_by: tuple[str, ...]
    unit: str
    params: Mapping[str, object]
    types: Mapping[str, list[str]] | None
    start: str | None = None

    def queries(self, program: Program, rules: pa.Table, id: str, errors: str) -> Queries:
        """A template with the rules of a table."""
        return Queries(
            program,
            rules,
            id=id,
            errors=errors,
            params=self.params,
            time=self.time,
            type=self.type,
            order_by=self.order_by,
            types=self.types,
            unit=self.unit,
            start=self.start,
        )

    def query(self, program: Program) -> Query:
        """The query with its settings."""
        return Query(
            program,
            params=self.params,
            time=self.time,
            type=self.type,
            order_by=self.order_by,
            types=self.types,
            unit=self.unit,
            start=self.start,
        )


def read_value(text: str) -> object:
    """The VALUE of a parameter: JSON where it is JSON, else a string.

    >>> read_value("[1, 2]"), read_value("12 hours"), read_value('"12"')
    ([1, 2], '12 hours', '12')
    """
    try:
        value: object = json.loads(text, parse_constant=_no_constant)
        json.dumps(value, ensure_ascii=False).encode()  # half a character, "\\ud800", is in no event
    except (ValueError, RecursionError):
        return text
    return value


def _no_constant(text: str) -> object:
    raise ValueError(f"{text} is not JSON")


def read_pairs(ctx: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise click.BadParameter("it is not UTF-8 text") from None
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise click.BadParameter(f"'{text}' does not have the form {option.metavar}")
        if name in pairs:
            raise click.BadParameter(f"'{name}' is given twice")
        pairs[name] = value
    return pairs


_OPTIONS = (
    click.option("--time", default="ts", metavar="COLUMN", show_default=True, help="The column with the time."),
    click.option(
        "--start", metavar="COLUMN", help="The column with the start of events that last; --time is their end."
    ),
    click.option("--type", "type_column", metavar="COLUMN", help="The column with the type.  [default: type]"),
    click.option("--no-type", is_flag=True, help="There is no type column: all events have one type."),
    click.option(
        "--order-by", multiple=True, metavar="COLUMN", help="Orders events of the same time. Can be repeated."
    ),
    click.option(
        "--unit", default="ms", metavar="UNIT", show_default=True, help="The unit of an integer time: s, ms, us, ns, …"
    ),
    click.option(
        "--param",
        multiple=True,
        metavar="NAME=VALUE",
        callback=read_pairs,
        help="A parameter of the query: a number, true, null or a list in JSON, else a string. Can be repeated.",
    ),
    click.option(
        "--declare",
        multiple=True,
        metavar="TYPE=COLUMN,…",
        callback=read_pairs,
        help="The attributes of a type; by default every type has every column. Can be repeated.",
    ),
)

_NAMES = ("time", "start", "type_column", "no_type", "order_by", "unit", "param", "declare")


def query_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the shared options, as one argument `settings`."""

    @wraps(command)
    def call(
        *,
        time: str,
        start: str | None,
        type_column: str | None,
        no_type: bool,
        order_by: tuple[str, ...],
        unit: str,
        param: dict[str, str],
        declare: dict[str, str],
        **rest: object,
    ) -> None:
        if no_type and type_column is not None:
            raise click.UsageError("--type and --no-type can't be combined")
        settings = Settings(
            time=time,
            type=None if no_type else "type" if type_column is None else type_column,
            order_by=order_by,
            unit=unit,
            params={name: read_value(value) for name, value in param.items()},
            types={name: [c for c in columns.split(",") if c] for name, columns in declare.items()} or None,
            start=start,
        )
        command(settings=settings, **rest)

    for option in reversed(_OPTIONS):
        call = option(call)
    return call


def is_query_option(option: click.Parameter) -> bool:
    """Whether an option of a command is one of the shared ones."""
    return option.name in _NAMES
