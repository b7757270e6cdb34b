"""`cepheid run`: a query on Spark over files or a table, in batch or as a stream."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from cepheid.api import Queries, Query
from cepheid.api.files.formats import FORMATS, Format
from cepheid.cli import many
from cepheid.cli.errors import EXIT_CODES, refuse_to_write
from cepheid.cli.options import Settings, query_options, read_pairs
from cepheid.cli.output import format_option
from cepheid.cli.query import read_query
from cepheid.cli.replay import read_span
from cepheid.cli.sources import address, find_control, find_source, local
from cepheid.engine.session.delays import read_delay, read_speculation
from cepheid.engine.session.engines import ENGINES
from cepheid.language import parse

_FORMS = {Format.PARQUET: "parquet", Format.CSV: "csv", Format.JSON_LINES: "json", Format.JSON: "json"}


@click.command(epilog=EXIT_CODES)
@click.argument("query")
@click.option("--from", "source", required=True, metavar="PATH_OR_TABLE", help="The events.")
@click.option("--to", required=True, metavar="PATH", help="The directory for the matches.")
@format_option(["parquet", "json", "csv"], "The output format.  [default: by the ending of PATH, else parquet]")
@click.option(
    "--from-format", metavar="FORMAT", help="The input format, if file names don't show it: parquet, orc, delta, …"
)
@click.option("--long", is_flag=True, help="Write a row for each event of a match, with the match's identifier.")
@click.option("--overwrite", is_flag=True, help="Replace the contents of PATH once all matches are written.")
@click.option("--stream", is_flag=True, help="Read the directory as a stream, and resume from the checkpoint.")
@click.option("--checkpoint", metavar="DIR", help="Where a stream keeps its progress and its state.")
@click.option(
    "--watermark",
    default="0 seconds",
    metavar="DELAY",
    show_default=True,
    help="How late events may arrive in a stream.",
)
@click.option("--files", type=click.IntRange(min=1), metavar="N", help="At most N files in a micro-batch of a stream.")
@click.option("--watch", is_flag=True, help="Run until Ctrl-C instead of stopping after the existing files.")
@click.option(
    "--prometheus",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Serve the metrics of a stream for Prometheus on this port.",
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
    help="In a stream: emit matches this far ahead of the watermark, or at once (all), and write changes.",
)
@click.option(
    "--control",
    metavar="DIR",
    help="In a stream: JSON lines or Parquet files with rows {id, action, text, at} that change the query.",
)
@click.option(
    "--rules",
    metavar="FILE",
    help="Run QUERY once for each row of this file, whose columns are its parameters.",
)
@click.option("--id", "rule_id", metavar="COLUMN", help="With --rules: the column of the ids.  [default: id]")
@click.option(
    "--wrong",
    type=click.Choice(["stop", "skip"]),
    help="With --rules: whether a wrong rule stops, or is reported and left out.  [default: stop]",
)
@click.option("--migrate", is_flag=True, help="Go on with the state of a query with another RETURN or constants.")
@click.option("--flush", is_flag=True, help="At the end, also write the matches as if the stream ended here.")
@click.option(
    "--late",
    type=click.Choice(["drop", "error"]),
    default="drop",
    show_default=True,
    help="What to do with late events.",
)
@click.option(
    "--buckets",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of parts of a stream's state.  [default: one per task]",
)
@click.option(
    "--partitions", type=click.IntRange(min=1), metavar="N", help="Number of tasks in batch.  [default: Spark's]"
)
@click.option("--master", default="local[*]", metavar="URL", show_default=True, help="Where Spark runs.")
@click.option(
    "--conf",
    multiple=True,
    metavar="NAME=VALUE",
    callback=read_pairs,
    help="A Spark setting, such as spark.driver.memory=4g. Can be repeated.",
)
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default=ENGINES[0],
    show_default=True,
    help="The engine that runs the query.",
)
@click.option("--plan", default="auto", show_default=True, help="The plan, as for match.")
@query_options
def run(
    settings: Settings,
    query: str,
    source: str,
    to: str,
    form: str | None,
    from_format: str | None,
    long: bool,
    overwrite: bool,
    stream: bool,
    checkpoint: str | None,
    watermark: str,
    files: int | None,
    watch: bool,
    prometheus: int | None,
    op: str | None,
    sequence: str | None,
    speculate: str | None,
    control: str | None,
    rules: str | None,
    rule_id: str | None,
    wrong: str | None,
    migrate: bool,
    flush: bool,
    late: str,
    buckets: int | None,
    partitions: int | None,
    master: str,
    conf: dict[str, str],
    engine: str,
    plan: str,
) -> None:
    """Run QUERY on Spark and write its matches to a directory.

    QUERY is a file or the text itself. Events are a file or a directory of Parquet, JSON lines or CSV with a header,
    or a table: table:NAME, or a NAME that is not a file. A path without a scheme such as s3a: is local. Spark runs on
    this machine unless --master is given.

    With --stream the directory is read as a stream: the existing files and, with --watch, those added until Ctrl-C.
    The time must be a timestamp. The matches of micro-batch N are in PATH/batch=N, each exactly once, even after a
    crash: run the same command again to resume. With --flush, PATH/batch=end has the matches as if the stream ended
    here; it is removed when the stream resumes. Into a log, it writes a line for each micro-batch.

    With --speculate a stream writes changes: `op` is + for a match that is new, and - for one that is retracted
    because an event came late or was retracted; `match_id` is the same in both.

    With --control the query changes while it runs: DIR has rows such as {"id": "big", "action": "remove_arc"} and
    {"id": "big", "action": "add_arc", "text": "ARC a -> b WHEN e.amount > 500", "at": "2026-03-14T12:00:00Z"}.
    Matches get a column `query`. Rows that are refused change nothing; they are listed at the end.

    With --rules QUERY is a template: the bare names in it are parameters, and each row of the file is a query, with a
    value for each name. Matches get a column `query` with its id. Rows of --control then have the columns of a rule,
    with "action": "add", "remove" or "replace".

    \b
    Examples:
      cepheid run thefts.sase --from readings/ --to thefts/
      cepheid run thefts.sase --from day.csv --to thefts.csv --overwrite
      cepheid run thefts.sase --from readings/ --to live-thefts/ --stream --checkpoint state/ --flush
      cepheid run thefts.sase --from readings/ --to changes/ --stream --checkpoint state/ --speculate all
      cepheid run fraud.sase --from payments/ --to alerts/ --stream --checkpoint state/ --control rules/ --watch
      cepheid run --rules customers.parquet unusual.sase --from payments/ --to alerts/
      cepheid run thefts.sase --from table:readings --to s3a://bucket/thefts --master spark://host:7077
    """
    for_streams = {"checkpoint": checkpoint, "watch": watch, "flush": flush, "files": files, "buckets": buckets}
    for_streams |= {"migrate": migrate, "prometheus": prometheus, "speculate": speculate}
    for_streams |= {"control": control}
    for_batches = {"overwrite": overwrite, "partitions": partitions}
    _check_options(stream, for_streams, for_batches)
    read_delay("--watermark", watermark, "milliseconds")  # an error comes before Spark starts
    ahead = None if speculate is None else read_span(speculate)
    read_speculation(ahead, "milliseconds")
    _check_places(source, to, checkpoint if stream else None, overwrite=overwrite, control=control)
    program = parse(read_query(query).text)
    others = {"long": long, "op": op, "sequence": sequence, "speculate": speculate, "plan": plan != "auto"}
    many.check(rules, {"id": rule_id, "wrong": wrong}, others)
    prepared: Query | Queries
    table = None if rules is None else many.read_rules(rules)
    if table is None:
        prepared = settings.query(program)
    else:
        prepared = many.read(settings, program, table, rule_id, wrong)
    files_or_table = find_source(source, from_format, stream=stream)
    changing = None if control is None else find_control(control)
    form = form or _FORMS[FORMATS.get(Path(to.rstrip("/")).suffix.lower(), Format.PARQUET)]
    options: dict[str, Any] = {"engine": engine}
    options |= {"plan": plan, "long": long} if rules is None else {"own": True}
    options |= {"late": late, "buckets": buckets, "migrate": migrate} if stream else {"partitions": partitions}
    changes = {"op": op, "sequence": sequence, "speculate": ahead}
    options |= {name: value for name, value in changes.items() if value is not None}
    from cepheid.cli.spark import (  # only here: it needs pyspark
        Flow,
        RuleColumns,
        SparkCommand,
        run_batch,
        run_stream,
        started,
    )

    of_rules = None if table is None else RuleColumns(table.schema, rule_id or "id")
    job = SparkCommand(prepared, files_or_table, to, form, options, settings, overwrite)
    with started(master, conf) as spark:
        if checkpoint is not None:
            flow = Flow(address(checkpoint), watermark, files, watch, flush, prometheus, changing, of_rules)
            run_stream(spark, job, flow)
        else:
            run_batch(spark, job)
    if isinstance(prepared, Queries):
        many.report_wrong(prepared)


def _check_options(stream: bool, for_streams: Mapping[str, object], for_batches: Mapping[str, object]) -> None:
    for name, value in (for_batches if stream else for_streams).items():
        if value:
            what = "not for streams: leave it out" if stream else "for streams only: add --stream"
            raise click.UsageError(f"--{name} is {what}")
    if stream and for_streams["checkpoint"] is None:
        raise click.UsageError("a stream needs a checkpoint: add --checkpoint DIR")
    if for_streams["watch"] and for_streams["flush"]:
        raise click.UsageError("--watch and --flush can't be combined: a watched stream has no end")


def _check_places(source: str, to: str, checkpoint: str | None, *, overwrite: bool, control: str | None) -> None:
    """Check local paths before the query runs; Spark checks remote ones."""
    path, events = local(to), local(source)
    state = local(checkpoint) if checkpoint is not None else None
    rules = local(control) if control is not None else None
    pairs = [("--from", events, path), ("--checkpoint", state, path), ("--from", events, state)]
    for name, path_, beside in (*pairs, *(("--control", rules, place) for place in (path, state, events))):
        if path_ is not None and beside is not None and _nested(path_, beside):
            raise click.UsageError(f"'{beside}' and {name} '{path_}' overlap: choose another directory")
    if path is None or not _holds_something(path) or overwrite:
        return
    if checkpoint is None or (state is not None and not _holds_something(state)):
        refuse_to_write(to, checkpoint)


def _nested(path: Path, beside: Path) -> bool:
    own_path, beside_path = Path(os.path.realpath(path)), Path(os.path.realpath(beside))
    return own_path.is_relative_to(beside_path) or beside_path.is_relative_to(own_path)


def _holds_something(path: Path) -> bool:
    return os.path.isfile(path) or (os.path.isdir(path) and any(path.iterdir()))
