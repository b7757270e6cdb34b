"""`cepheid demo`, used by `make demo`: one query embedded, on Spark in batch, and on Spark as a stream."""

from __future__ import annotations

import os
import tempfile
from importlib.resources import as_file, files
from pathlib import Path

import click

from cepheid.cli.errors import EXIT_CODES, EXIT_WRONG, warn
from cepheid.cli.events import read_events
from cepheid.cli.options import Settings
from cepheid.cli.progress import working
from cepheid.cli.table import print_table
from cepheid.errors import UsageError
from cepheid.language import parse

_PARTS = 3
_CONF = {"spark.sql.shuffle.partitions": "2", "spark.ui.enabled": "false"}  # for sixty readings
_SETTINGS = Settings(time="ts", type="type", order_by=(), unit="ms", params={}, types=None)


@click.command(epilog=EXIT_CODES)
@click.option("--master", default="local[2]", metavar="URL", show_default=True, help="Where Spark runs.")
def demo(master: str) -> None:
    """Find the shoplifters in a day of a store's readings, in three ways.

    Runs one query over the same readings: embedded, on Spark in batch, and on Spark as a stream. Shows the matches,
    and how many each run found. Without Java or pyspark it prints a warning and runs embedded only.
    """
    with as_file(files("cepheid") / "demo") as folder:
        text, readings = (folder / "shoplifting.sase").read_text(encoding="utf-8"), folder / "readings.csv"
        query = _SETTINGS.query(parse(text))
        matches = query.match(read_events(str(readings), "type"), progress=False).to_arrow()
        click.echo(f"{text}")
        print_table(matches, "", _SETTINGS.time, returned=False)
        _say("embedded", matches.num_rows)
        try:
            on_spark = _on_spark(query.text, readings, master)
        except UsageError as error:
            if error.code not in ("CEP602", "CEP930"):
                raise
            warn(f"not run on Spark: {error.message}; {error.remedy}")
            return
    for way, count in on_spark.items():
        _say(way, count)
    if set(on_spark.values()) != {matches.num_rows}:
        click.echo("the numbers differ", err=True)
        click.get_current_context().exit(EXIT_WRONG)


def _say(way: str, count: int) -> None:
    click.echo(f"{way:<18}{count} matches")


def _on_spark(text: str, readings: Path, master: str) -> dict[str, int]:
    """The number of matches on Spark, in batch and as a stream."""
    from cepheid.cli import spark as on_spark  # only here: it needs pyspark

    query = _SETTINGS.query(parse(text))
    with tempfile.TemporaryDirectory(prefix="cepheid-demo-") as scratch, on_spark.started(master, _CONF) as spark:
        _cut(readings, Path(scratch, "readings"))
        with working("in batch"):
            batch = on_spark.count_batch(spark, query, Path(scratch), _SETTINGS)
        with working("as a stream"):
            stream = on_spark.count_stream(spark, query, Path(scratch), _SETTINGS)
    return {"Spark, batch": batch, "Spark, stream": stream}


def _cut(readings: Path, folder: Path) -> None:
    """Split the readings into files, as they would arrive during the day."""
    header, *lines = readings.read_text(encoding="utf-8").splitlines(keepends=True)
    folder.mkdir()
    for part in range(_PARTS):
        file = folder / f"part-{part}.csv"
        some = lines[part * len(lines) // _PARTS : (part + 1) * len(lines) // _PARTS]
        file.write_text(header + "".join(some), encoding="utf-8")
        os.utime(file, (part, part))  # a stream takes files in the order of their times
