"""`cepheid match`: run a query over events."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from cepheid.api import Progress
from cepheid.api.files.formats import FORMATS
from cepheid.api.query import ENGINES
from cepheid.cli.errors import EXIT_CODES, note
from cepheid.cli.events import read_events
from cepheid.cli.options import Settings, query_options
from cepheid.cli.progress import bar, working
from cepheid.cli.query import read_query
from cepheid.cli.streams import write_stdout
from cepheid.cli.table import print_table
from cepheid.cli.write import csv_lines, json_lines, write_file
from cepheid.errors import FileError
from cepheid.language import parse


@click.command(epilog=EXIT_CODES)
@click.argument("query")
@click.argument("events")
@click.option("-o", "--output", metavar="FILE", help="Write the matches to a .parquet, .csv, .json or .jsonl file.")
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(["table", "jsonl", "csv"]),
    help="The format on stdout.  [default: table on a terminal, else jsonl]",
)
@click.option("--long", is_flag=True, help="Print a row for each event of a match, with the match's identifier.")
@click.option("-n", "--limit", type=click.IntRange(min=0), metavar="N", help="Print only the first N matches.")
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default=ENGINES[0],
    show_default=True,
    help="The engine that runs the query.",
)
@click.option(
    "--plan",
    default="auto",
    show_default=True,
    help="The plan: auto, automaton, stacks, tree, or an order such as 'lazy(c, b, a)'.",
)
@click.option(
    "--open/--no-open",
    "open_",
    default=True,
    show_default=True,
    help="Whether an absence counts if the events end before its WITHIN or FOR does.",
)
@query_options
def match(
    settings: Settings,
    query: str,
    events: str,
    output: str | None,
    form: str | None,
    long: bool,
    limit: int | None,
    engine: str,
    plan: str,
    open_: bool,
) -> None:
    """Find all matches of QUERY in EVENTS.

    QUERY is a file or the text itself. EVENTS is a .parquet, .csv, .json, .jsonl or .ndjson file, a directory of
    Parquet files, or `-` for stdin, whose format is recognised by the first bytes. For a program of several queries,
    the matches of the last one are printed.

    CSV has a header; types are inferred, empty fields are NULL, and fields are separated by commas, or by tabs or
    semicolons where the header has no comma. JSON is one object a line, or one array of objects. In both, ISO dates
    and times are read as such: 2026-03-14, 2026-03-14T06:12:05, 2026-03-14T06:12:05.250Z.

    A table on a terminal has a line per event, or a line per match for a query with RETURN. CSV has a column
    such as a.tag_id per attribute, and JSON text for a Kleene variable. Times are written in ISO form; NaN is null
    in JSON.

    \b
    Examples:
      cepheid match thefts.sase readings.csv
      cepheid match thefts.sase readings.parquet -o thefts.parquet
      cepheid match "PATTERN SEQ(Shelf a, Exit b) WHERE [tag_id] WITHIN T" day.jsonl --param "T=1 hour"
      cepheid match "PATTERN Tick+ t[] WITHIN 3 events" ticks.csv --time at --no-type
      zcat readings.csv.gz | cepheid match thefts.sase - | jq .a.tag_id
    """
    if query == events == "-":
        raise click.UsageError("QUERY and EVENTS can't both be read from stdin")
    if output == "-":
        output = None
    if output is not None:
        if form is not None:
            raise click.UsageError("--format is for stdout; the ending of --output sets the format of a file")
        _check_output(output, events)
    program = parse(read_query(query).text)
    prepared = settings.query(program)
    table = read_events(events, settings.type)
    what = f"matching {table.num_rows:,} events"
    with bar(what) as drawn:

        def tell(at: Progress) -> None:
            drawn.tell(what, at.events, at.total)

        matches = prepared.match(table, engine=engine, plan=plan, open=open_, progress=tell)
        first = matches if limit is None else matches.head(limit)
        shown = first.to_long() if long else first.to_arrow()
        given = len(first) if long else shown.num_rows
        total = given if limit is None else matches.count()  # counting does not enumerate them
    count = _count(given, total)
    if output is not None:
        with working(f"writing '{output}'"):
            write_file(shown, Path(output))
        note(f"{count} written to '{output}'")
    elif form == "table" or (form is None and sys.stdout.isatty()):
        print_table(shown, count, settings.time, returned=long or bool(program.queries[-1].returns))
    else:
        write_stdout(csv_lines(shown) if form == "csv" else json_lines(shown))
        if given < total:
            note(count)


def _check_output(output: str, events: str) -> None:
    """Check the output file before the query runs."""
    path = Path(output)
    if path.suffix.lower() not in FORMATS:
        raise click.UsageError(f"unknown ending of '{output}': use one of {', '.join(FORMATS)}")
    if os.path.exists(output) and os.path.exists(events) and os.path.samefile(output, events):
        raise click.UsageError(f"'{output}' is the file of the events: write the matches to another file")
    if os.path.isdir(output):
        raise FileError("CEP801", f"can't write '{output}': it is a directory", "name a file")
    if not os.path.isdir(path.parent):
        message = f"can't write '{output}': there is no directory '{path.parent}'"
        raise FileError("CEP801", message, "create it first, or choose another one")


def _count(shown: int, all_: int) -> str:
    if shown < all_:
        return f"the first {shown:,} of {all_:,} matches"
    return f"{all_:,} {'match' if all_ == 1 else 'matches'}" if all_ else "no matches"
