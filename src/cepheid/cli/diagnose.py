"""`cepheid diagnose`: why a query matches, or does not."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator

import click
from click.core import ParameterSource

from cepheid.cli.errors import EXIT_CODES, note, printable
from cepheid.cli.events import read_events
from cepheid.cli.options import Settings, is_query_option, query_options
from cepheid.cli.output import format_option
from cepheid.cli.progress import working
from cepheid.cli.query import read_query
from cepheid.cli.streams import write_stdout
from cepheid.language import parse


def _read_sample(ctx: click.Context, option: click.Parameter, text: str) -> int | str | None:
    if text in ("auto", "all"):
        return "auto" if text == "auto" else None
    if not text.isdecimal() or not int(text):
        raise click.BadParameter(f"'{text}' is not a number of events, 1 or more, nor all")
    return int(text)


@click.command(epilog=EXIT_CODES)
@click.argument("query")
@click.argument("events")
@click.option(
    "--sample",
    metavar="N|all",
    default="auto",
    callback=_read_sample,
    help="On how many events runs are followed one by one.  [default: what takes about half a second]",
)
@format_option(["text", "json"], "The format.", default="text")
@query_options
def diagnose(settings: Settings, query: str, events: str, sample: int | str | None, form: str) -> None:
    """Say why QUERY matches in EVENTS, or why it does not.

    First what is likely wrong and what to do: a misspelt type, a key that the events do not share, a window that is too
    short, a condition that is never true. Of a query without matches also the runs that came nearest to one, with the
    condition that failed and its values, and which single change would lead to matches. Last the funnel: how many runs
    came to each component, how often its conditions were true, and what ended the runs.

    \b
    Examples:
      cepheid diagnose thefts.sase readings.csv
      cepheid diagnose "PATTERN SEQ(Shelf a, Exit b) WHERE [tag_id] WITHIN 1 minute" readings.csv --sample all
      cepheid diagnose thefts.sase readings.csv -f json
    """
    if query == events == "-":
        raise click.UsageError("QUERY and EVENTS can't both be read from stdin")
    prepared = settings.query(parse(read_query(query).text))
    table = read_events(events, settings.type)
    with working(f"diagnosing {table.num_rows:,} events"):
        diagnosis = prepared.diagnose(table, sample=sample)
    if form == "json":
        write_stdout([json.dumps(diagnosis.to_dict(), ensure_ascii=False, indent=2), "\n"])
    else:
        click.echo(printable(str(diagnosis)))


def hint(query: str, events: str) -> None:
    """Tell on stderr how to find out why a query has no matches, with the arguments of this command as typed."""
    shown = "QUERY" if "\n" in query else query  # of a text in several lines, the hint is still one
    note(f"{shlex.join(['cepheid', 'diagnose', shown, events, *_typed(click.get_current_context())])} says why")


def _typed(ctx: click.Context) -> Iterator[str]:
    """The options that say how the query reads its events."""
    for option in ctx.command.params:
        if not is_query_option(option) or ctx.get_parameter_source(str(option.name)) is not ParameterSource.COMMANDLINE:
            continue
        value = ctx.params[str(option.name)]
        if value is True:
            yield option.opts[0]
            continue
        texts = [f"{name}={item}" for name, item in value.items()] if isinstance(value, dict) else value
        for item in [texts] if isinstance(texts, str) else texts:
            yield from (option.opts[0], item)
