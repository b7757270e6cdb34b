"""`cepheid match`: run a query over events."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import click
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.api import Progress, Queries, Query
from cepheid.cli import many
from cepheid.cli.diagnose import hint
from cepheid.cli.errors import EXIT_CODES, note
from cepheid.cli.events import read_events
from cepheid.cli.options import Settings, query_options
from cepheid.cli.output import output_option, read_output, rows_format_option, write_rows
from cepheid.cli.progress import bar
from cepheid.cli.query import read_query
from cepheid.cli.replay import ReportRows, read_replay, replay
from cepheid.cli.table import print_table
from cepheid.engine.matches.changes import OP, REMOVED
from cepheid.engine.session.engines import ENGINES
from cepheid.language import parse


@click.command(epilog=EXIT_CODES)
@click.argument("query")
@click.argument("events")
@output_option("the matches")
@rows_format_option("table")
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
@click.option(
    "--op",
    metavar="COLUMN",
    help="The column that says whether a row inserts (+, +I, +U) or retracts (-, -D, -U) an event.",
)
@click.option("--sequence", metavar="COLUMN", help="A column that counts by 1: no match spans a gap in it.")
@click.option(
    "--speculate",
    metavar="TIME",
    help="Replay the rows in the order of the file, emit matches this far ahead of the watermark, or at once (all), "
    "and print the changes.",
)
@click.option("--lateness", metavar="TIME", help="In a replay: how late a row may be.  [default: any time]")
@click.option(
    "--late", type=click.Choice(["drop", "error"]), help="In a replay: what to do with late rows.  [default: drop]"
)
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    metavar="N",
    help="In a replay: rows that arrive together; more are faster.  [default: 1]",
)
@click.option(
    "--rules",
    metavar="FILE",
    help="Many queries: QUERY is a template, and each row of FILE has an id and the values of its parameters.",
)
@click.option("--id", "rule_id", metavar="COLUMN", help="With --rules: the column of the ids.  [default: id]")
@click.option(
    "--wrong",
    type=click.Choice(["stop", "skip"]),
    help="With --rules: whether a wrong rule stops, or is reported and left out.  [default: stop]",
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
    op: str | None,
    sequence: str | None,
    speculate: str | None,
    lateness: str | None,
    late: str | None,
    batch: int | None,
    rules: str | None,
    rule_id: str | None,
    wrong: str | None,
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

    With --op the events are a stream of changes, and the matches are those of the events that are left. With
    --speculate the rows arrive one by one in the order of the file, also if their times are not in order, and what
    is printed are changes: + a match that is new, - one that is retracted because a row came late or was retracted.

    With --rules QUERY is a template: the bare names in it are parameters, and each row of the file is a query, with a
    column for each of them. Matches get a column `query` with the id of their rule.

    \b
    Examples:
      cepheid match thefts.sase readings.csv
      cepheid match thefts.sase readings.parquet -o thefts.parquet
      cepheid match "PATTERN SEQ(Shelf a, Exit b) WHERE [tag_id] WITHIN T" day.jsonl --param "T=1 hour"
      cepheid match "PATTERN Tick+ t[] WITHIN 3 events" ticks.csv --time at --no-type
      cepheid match thefts.sase readings.csv --speculate all --lateness "10 minutes"
      cepheid match --rules alerts.parquet alert.sase prices.parquet
      zcat readings.csv.gz | cepheid match thefts.sase - | jq .a.tag_id
    """
    if query == events == "-":
        raise click.UsageError("QUERY and EVENTS can't both be read from stdin")
    written = read_output(output, form, events, "the matches")
    how = read_replay(speculate, lateness, late, batch, long=long, open_=open_)
    program = parse(read_query(query).text)
    others = {"long": long, "plan": plan != "auto", "no-open": not open_, "op": op, "sequence": sequence}
    many.check(rules, {"id": rule_id, "wrong": wrong}, others | {"speculate": how})
    prepared: Query | Queries
    if rules is not None:
        prepared = many.read(settings, program, many.read_rules(rules), rule_id, wrong)
    else:
        prepared = settings.query(program)
    table = read_events(events, settings.type)
    what = f"matching {table.num_rows:,} events"
    with bar(what) as drawn:

        def report(done: int, of: int | None) -> None:
            drawn.show(what, done, of)

        options: dict[str, Any] = {"engine": engine, "plan": plan, "op": op, "sequence": sequence}
        if isinstance(prepared, Queries):
            result = _Found(*many.matches(prepared, table, report, limit, engine))
        elif how is None:
            result = _matches(prepared, table, report, long, limit, open=open_, **options)
        else:
            result = _changes(replay(prepared, table, how, report, **options), limit)
    if written is None and (form == "table" or (form is None and sys.stdout.isatty())):
        returned = long or rules is not None or bool(program.queries[-1].returns)
        print_table(result.rows, result.count, settings.time, returned=returned, changes=how is not None)
        none = not result.rows.num_rows and not result.cut
        if none and sys.stdout.isatty() and not any([rules, how, op, sequence, not open_]):
            hint(query, events)
    else:
        write_rows(result.rows, result.count, written, form)
        if result.cut and written is None:
            note(result.count)


@dataclass(frozen=True, slots=True)
class _Found:
    """What is printed, and its number in words. cut: there is more."""

    rows: pa.Table
    count: str
    cut: bool


def _matches(
    query: Query, events: pa.Table, report: ReportRows, long: bool, limit: int | None, **options: Any
) -> _Found:
    def advance(at: Progress) -> None:
        report(at.events, at.total)

    matches = query.match(events, progress=advance, **options)
    first = matches if limit is None else matches.head(limit)
    rows = first.to_long() if long else first.to_arrow()
    shown = len(first) if long else rows.num_rows
    total = shown if limit is None else matches.count()  # counting does not enumerate them
    if shown < total:
        return _Found(rows, f"the first {shown:,} of {total:,} matches", cut=True)
    return _Found(rows, _number(total, "match", "matches"), cut=False)


def _changes(rows: pa.Table, limit: int | None) -> _Found:
    total = _number(rows.num_rows, "change", "changes")
    if limit is not None and limit < rows.num_rows:
        return _Found(rows.slice(0, limit), f"the first {limit:,} of {total}", cut=True)
    removed = pc.sum(pc.equal(rows[OP], REMOVED)).as_py() or 0
    text = f"{total} ({rows.num_rows - removed:,} added, {removed:,} retracted)" if rows.num_rows else total
    return _Found(rows, text, cut=False)


def _number(count: int, singular: str, plural: str) -> str:
    return f"{count:,} {singular if count == 1 else plural}" if count else f"no {plural}"
