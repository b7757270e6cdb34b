"""`cepheid explain`: what a query does, with every default written out."""

from __future__ import annotations

import click

from cepheid.cli.errors import EXIT_CODES
from cepheid.cli.options import Settings, query_options
from cepheid.cli.query import read_query
from cepheid.language import parse


@click.command(epilog=EXIT_CODES)
@click.argument("query")
@query_options
def explain(settings: Settings, query: str) -> None:
    """Explain QUERY.

    Shows the query with every default written out, its components, and where each predicate is tested.

    \b
    Examples:
      cepheid explain thefts.sase
      cepheid explain "PATTERN SEQ(Shelf a, !(Register b), Exit c) WHERE [tag_id] WITHIN 12 hours"
    """
    prepared = settings.query(parse(read_query(query).text))
    click.echo(str(prepared.explain()))
