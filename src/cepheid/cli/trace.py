"""`cepheid trace`: what the runs of a query do, event by event."""

from __future__ import annotations

import sys

import click

from cepheid.cli.errors import EXIT_CODES, note, printable
from cepheid.cli.events import read_events
from cepheid.cli.options import Settings, query_options
from cepheid.cli.output import output_option, read_output, rows_format_option, write_rows
from cepheid.cli.progress import working
from cepheid.cli.query import read_query
from cepheid.diagnosis.trace import Trace
from cepheid.language import parse


@click.command(epilog=EXIT_CODES)
@click.argument("query")
@click.argument("events")
@output_option("the steps")
@rows_format_option("text")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=0),
    default=10_000,
    show_default=True,
    metavar="N",
    help="The maximum number of steps; events after those that fill it are not read.",
)
@query_options
def trace(settings: Settings, query: str, events: str, output: str | None, form: str | None, limit: int) -> None:
    """Show what the runs of QUERY do on EVENTS, step by step.

    A line for each step, in the order of the events: a run begins, takes an event, proceeds, merges with another run,
    ignores or refuses an event, is ended or dropped, or emits a match. `run` is the index of the run, and `parent`
    that of the run that it was made from.

    \b
    Examples:
      cepheid trace thefts.sase readings.csv -n 50
      cepheid trace thefts.sase readings.csv -o steps.parquet
      cepheid trace thefts.sase readings.csv -f csv
    """
    if query == events == "-":
        raise click.UsageError("QUERY and EVENTS can't both be read from stdin")
    written = read_output(output, form, events, "the steps")
    prepared = settings.query(parse(read_query(query).text))
    table = read_events(events, settings.type)
    with working(f"tracing {table.num_rows:,} events"):
        steps = prepared.trace(table, limit=limit)
    if written is None and (form == "text" or (form is None and sys.stdout.isatty())):
        for line in steps.lines():
            click.echo(printable(line))
    else:
        write_rows(steps.to_arrow(), _count(steps), written, form)
    _report_rest(steps)


def _report_rest(steps: Trace) -> None:
    if steps.read < steps.events or steps.left_out:
        read = f"the first {steps.read:,} of {steps.events:,} events" if steps.read < steps.events else "all events"
        note(f"{_count(steps)} of {read}; --limit shows more")


def _count(steps: Trace) -> str:
    return f"{len(steps):,} step{'s' * (len(steps) != 1)}"
