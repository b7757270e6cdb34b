"""`cepheid studio`: a page on this machine to write queries and see what they match."""

from __future__ import annotations

import os
from glob import glob
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import click
import pyarrow as pa

from cepheid.api.files.read_files import read_bytes, read_files
from cepheid.api.files.shares import OnShare
from cepheid.cli.errors import EXIT_CODES, with_options
from cepheid.cli.options import Settings, query_options
from cepheid.cli.query import read_query
from cepheid.errors import UsageError

_DEMO = "shoplifting.sase", "readings.csv"


@click.command(epilog=EXIT_CODES)
@click.argument("events", required=False)
@click.option("--demo", is_flag=True, help="A day of a store's readings, and a query that finds shoplifters in them.")
@click.option("--checkpoint", metavar="DIR", help="Watch the Spark stream that keeps its progress there.")
@click.option(
    "--matches", metavar="DIR", help="With --checkpoint: the directory that the stream writes its matches to."
)
@click.option("--query", "text", metavar="QUERY", help="The query to begin with: a file, or the text itself.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="The port.  [default: one that is free]"
)
@click.option("--no-browser", is_flag=True, help="Only print the address of the page.")
@query_options
def studio(
    settings: Settings,
    events: str | None,
    demo: bool,
    checkpoint: str | None,
    matches: str | None,
    text: str | None,
    port: int,
    no_browser: bool,
) -> None:
    """Open a page to write a query and see what it matches in EVENTS.

    The page is served by this process, to this machine only, and needs no internet. Ctrl-C ends it.

    \b
    Examples:
      cepheid studio --demo
      cepheid studio readings.parquet --query thefts.sase
      cepheid studio --checkpoint state/ --matches live-thefts/
    """
    if (events is not None) + demo + (checkpoint is not None) != 1:
        raise click.UsageError("pass EVENTS, --demo or --checkpoint, one of them")
    if matches is not None and checkpoint is None:
        raise click.UsageError("--matches is for --checkpoint")
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise UsageError("CEP602", "the page needs starlette and uvicorn", "pip install 'cepheid[studio]'")
    from cepheid.studio.serve import serve  # only here: it needs a web server, which is an extra
    from cepheid.studio.source import ColumnRoles, EventSource

    if events is not None and not os.path.exists(events) and not glob(events, recursive=True):
        read_files(events, settings.type)  # which says what is wrong with the name, before there is a page
    query_text = "" if text is None else read_query(text).text
    folder = files("cepheid") / "demo"
    if demo and text is None:
        query_text = (folder / _DEMO[0]).read_text(encoding="utf-8")

    def read(report: OnShare) -> pa.Table:
        if events is not None:
            return read_files(events, settings.type, report)
        return read_bytes((folder / _DEMO[1]).read_bytes(), None, _DEMO[1], settings.type)

    source = EventSource(
        name=_name(events, checkpoint),
        text=query_text,
        columns=ColumnRoles(settings.time, settings.type, settings.start, settings.unit),
        prepare=settings.query,
        read=None if checkpoint is not None else read,
        checkpoint=None if checkpoint is None else Path(checkpoint),
        matches=None if matches is None else Path(matches),
        spelt=with_options,
    )
    serve(source, port, browser=not no_browser, report=lambda address: click.echo(f"{address}\nCtrl-C ends it."))


def _name(events: str | None, checkpoint: str | None) -> str:
    if checkpoint is not None:
        return f"checkpoint {Path(checkpoint).resolve().name}"
    return "demo: a day of a store's readings" if events is None else Path(events).name
