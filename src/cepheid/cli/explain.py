"""`cepheid explain`: what a query does, with all defaults written out."""

from __future__ import annotations

import click

from cepheid.cli.errors import EXIT_CODES
from cepheid.cli.events import read_events
from cepheid.cli.options import Settings, query_options
from cepheid.cli.query import read_query
from cepheid.language import parse


@click.command(epilog=EXIT_CODES)
@click.argument("query")
@click.argument("events", required=False)
@click.option("--plan", default="auto", show_default=True, help="The plan to explain, as for match.")
@query_options
def explain(settings: Settings, query: str, events: str | None, plan: str) -> None:
    """Explain QUERY.

    Shows the query with all defaults written out, its components, and where each predicate is tested. With EVENTS,
    also the plan for them, and the expected cost of each plan.

    \b
    Examples:
      cepheid explain thefts.sase
      cepheid explain thefts.sase readings.csv
      cepheid explain "PATTERN SEQ(Shelf a, !(Register b), Exit c) WHERE [tag_id] WITHIN 12 hours"
    """
    if query == events == "-":
        raise click.UsageError("QUERY and EVENTS can't both be read from stdin")
    prepared = settings.query(parse(read_query(query).text))
    table = None if events is None else read_events(events, settings.type)
    click.echo(str(prepared.explain(table, plan=plan)))
