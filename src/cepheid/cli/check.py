"""`cepheid check`: validates a query, alone or against events."""

from __future__ import annotations

import click

from cepheid.cli.errors import EXIT_CODES, printable
from cepheid.cli.events import read_events
from cepheid.cli.options import Settings, query_options
from cepheid.cli.query import read_query
from cepheid.language import parse


@click.command(epilog=EXIT_CODES)
@click.argument("query")
@click.option("--schema", metavar="EVENTS", help="Events whose columns and types the query is checked against.")
@query_options
def check(settings: Settings, query: str, schema: str | None) -> None:
    """Check QUERY without running it.

    Without --schema: checks syntax and meaning. With --schema, also checks that the events have the columns, that
    their types fit, and that nothing is likely to be wrong, such as a misspelt type, and lists the columns of a match.

    \b
    Examples:
      cepheid check thefts.sase
      cepheid check thefts.sase --schema readings.csv
      cepheid check "PATTERN SEQ(Shelf a, Exit b) WITHIN T" --param "T=1 hour"
    """
    if query == schema == "-":
        raise click.UsageError("QUERY and EVENTS can't both be read from stdin")
    source = read_query(query)
    program = parse(source.text)
    prepared = settings.query(program)
    if schema is None:
        click.echo(f"{source.name}: ok")
        return
    events = read_events(schema, settings.type)
    columns = prepared.schema(events.schema)
    prepared.warn_of(events)
    click.echo(f"{source.name}: ok, a match has the columns")
    for column in columns:
        click.echo(f"  {printable(column.name)}: {printable(str(column.type))}")
