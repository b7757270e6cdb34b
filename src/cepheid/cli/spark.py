"""The part of `cepheid run` that needs pyspark; imported only when used."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from cepheid.api import Queries, Query
from cepheid.cli.errors import note, refuse_to_write
from cepheid.cli.options import Settings
from cepheid.cli.progress import bar, looking, working
from cepheid.cli.sources import FileSource, Table, address, inside, local
from cepheid.errors import FileError
from cepheid.spark import run as running
from cepheid.spark.exporter import prometheus
from cepheid.spark.failures import explain_failure
from cepheid.spark.pending_matches import pending
from cepheid.spark.progress import metrics, watermark_of
from cepheid.spark.recorder import record
from cepheid.spark.run import DataFrame, SparkSession
from cepheid.spark.schemas import spark_schema
from cepheid.spark.stream import refusals


@dataclass(frozen=True, slots=True)
class SparkCommand:
    """A job: the query, the source of the events, and the output path."""

    query: Query | Queries
    source: Table | FileSource
    to: str
    form: str
    options: dict[str, Any]
    settings: Settings
    overwrite: bool


@dataclass(frozen=True, slots=True)
class RuleColumns:
    """Of many queries: the columns of their rules, and which of them has the ids."""

    schema: pa.Schema
    id: str


@dataclass(frozen=True, slots=True)
class Flow:
    """The options of a stream: where its state is, and what it does beside writing matches."""

    checkpoint: str
    watermark: str
    at_once: int | None
    watch: bool
    flush: bool
    port: int | None
    control: FileSource | None = None
    rules: RuleColumns | None = None


@contextmanager
def started(master: str, conf: dict[str, str]) -> Iterator[SparkSession]:
    """A Spark session; errors of Spark are converted to errors with a remedy."""
    warnings.filterwarnings("ignore", "PySpark does not yet fully support", FutureWarning)
    scratch = Path(tempfile.mkdtemp(prefix="cepheid-run-"))
    log = scratch / "spark.log"
    kept = False
    try:
        with working(f"starting Spark on {master}"):
            session = running.session(master, conf, scratch)
            spark = session.__enter__()
        try:
            yield spark
        finally:
            with working("stopping Spark"):
                session.__exit__(None, None, None)
    except running.FAILURES as error:
        explained = explain_failure(error, f"look at Spark's log: {log}")
        kept = str(log) in explained.remedy
        raise explained from None
    finally:
        if not kept:
            shutil.rmtree(scratch, ignore_errors=True)


def _read(spark: SparkSession, job: SparkCommand) -> DataFrame:
    if isinstance(job.source, Table):
        return spark.table(job.source.name)
    return running.read_files(spark, _files(job))


def _files(job: SparkCommand) -> running.Files:
    source = job.source
    assert isinstance(source, FileSource)
    return running.Files(source.address, source.form, source.options, source.first, job.settings.type)


def run_batch(spark: SparkSession, job: SparkCommand) -> None:
    """Write the matches of a batch."""
    if local(job.to) is None and not job.overwrite and running.holds_something(spark, job.to):
        refuse_to_write(job.to)
    with bar("planning") as shown:
        matches = job.query.match(_read(spark, job), **job.options)

        def look() -> None:
            done, known = running.tasks(spark)
            shown.show(f"matching: {done:,} of {known:,} tasks" if known else "matching", done, known or None)

        with looking(look), _replacing(job.to) as place:
            count = running.write_files(matches, place, job.form)
    note(f"{_matches(count, long=_is_long(job))} written to '{job.to}'")


@contextmanager
def _replacing(to: str) -> Iterator[str]:
    """A temporary place beside the path, moved into place at the end, so that a failure keeps the old contents."""
    path = local(to)
    if path is None or not os.path.exists(path):
        yield address(to)
        return
    path = Path(os.path.abspath(path))
    beside = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    try:
        yield address(str(beside / "new"))
        path.rename(beside / "old")
        (beside / "new").rename(path)
    except OSError as error:
        raise FileError.of("write", f"'{to}'", error) from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def run_stream(spark: SparkSession, job: SparkCommand, flow: Flow) -> None:
    """Write the matches of a stream, micro-batch by micro-batch."""
    if running.holds_something(spark, address(job.to)) and not running.holds_something(spark, flow.checkpoint):
        refuse_to_write(job.to, flow.checkpoint)
    place, end = address(job.to), inside(address(job.to), running.END)
    if isinstance(job.source, Table):
        events = spark.readStream.table(job.source.name)
    else:
        events = running.stream_files(spark, _files(job), flow.at_once)
    events = running.with_watermark(events, job.settings.time, flow.watermark)
    options = {**job.options, "checkpoint": flow.checkpoint}
    if flow.control is not None:
        known = None if flow.rules is None else running.RuleSchema(spark_schema(flow.rules.schema), flow.rules.id)
        options["control"] = running.stream_control(spark, flow.control.address, flow.control.form, known)
    matches = job.query.match(events, **options)
    running.remove(spark, end)  # if the stream resumes, it writes these matches itself
    if flow.port is not None:
        note(f"metrics for Prometheus on port {prometheus(spark, flow.port).port}")
    folder = local(flow.checkpoint)
    recorder = None if folder is None else record(spark, str(folder))
    count = _Count()
    with bar("the first micro-batch") as shown:
        streaming = running.start_stream(matches, place, job.form, flow.checkpoint, watch=flow.watch)

        def look() -> None:
            for batch in count.add(streaming.recentProgress):
                if not sys.stderr.isatty():  # a log
                    note(_line(batch))
            shown.show(count.text)

        try:
            with looking(look):
                while not streaming.awaitTermination(1):
                    pass
        except KeyboardInterrupt:
            if not flow.watch:
                raise
        finally:
            streaming.stop()
            if recorder is not None:
                recorder.close()
        look()
    changes = "speculate" in job.options
    note(f"{count.text}; {'changes' if changes else 'matches'} written to '{job.to}'")
    if count.refused:
        _report_refused(spark, flow.checkpoint, count.refused)
    if flow.flush:
        with working("flushing"):
            if isinstance(job.query, Queries):
                left = pending(spark, job.query, flow.checkpoint, own=job.options["own"])
            else:
                long, migrate = job.options["long"], job.options["migrate"]
                left = pending(spark, job.query, flow.checkpoint, long=long, migrate=migrate)
            rest = running.write_files(left, end, job.form)
        pending_rows = f"{rest:,} changes" if changes else _matches(rest, long=_is_long(job))
        note(f"{pending_rows} pending, written to '{inside(job.to, running.END)}'")


def _is_long(job: SparkCommand) -> bool:
    return bool(job.options.get("long"))


class _Count:
    """The totals of the micro-batches of this run."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._events = self._matches = self._withdrawn = self._late = self.refused = 0

    def add(self, progress: Any) -> Iterator[Any]:
        """Add the micro-batches that are new, and yield them."""
        for batch in progress:
            if batch.batchId in self._seen or "addBatch" not in batch.durationMs:  # seen, or Spark had nothing to do
                continue
            self._seen.add(batch.batchId)
            figures = metrics(batch)
            self._events += figures["events"]
            self._matches += figures["matches"]
            self._withdrawn += figures.get("withdrawn", 0)
            self._late += figures["late"]
            self.refused += figures["refused"]
            yield batch

    @property
    def text(self) -> str:
        batches = f"{len(self._seen):,} micro-batch{'' if len(self._seen) == 1 else 'es'}"
        late = f", {self._late:,} late" if self._late else ""
        withdrawn = f", {self._withdrawn:,} retracted" if self._withdrawn else ""
        return f"{batches}: {self._events:,} events{late}, {_matches(self._matches)}{withdrawn}"


def _line(batch: Any) -> str:
    """A micro-batch as one line of a log."""
    figures = metrics(batch)
    facts = {"batch": batch.batchId, "rows": batch.numInputRows, "matches": figures["matches"]}
    facts |= {"withdrawn": figures["withdrawn"]} if figures.get("withdrawn") else {}
    facts |= {"refused": figures["refused"]} if figures["refused"] else {}
    facts |= {
        "watermark": watermark_of(batch) or "none",
        "state_bytes": figures["state_bytes"],
        "late": figures["late"],
    }
    return f"{batch.timestamp} {' '.join(f'{name}={value}' for name, value in facts.items())}"


def _report_refused(spark: SparkSession, checkpoint: str, count: int) -> None:
    """The control rows that were refused last, with the reasons."""
    note(f"{count:,} control row{'' if count == 1 else 's'} refused")
    for row in refusals(spark, checkpoint).tail(count):
        note(f"  {row['action']} {row['id']}: {row['reason']}")


def _matches(count: int, *, long: bool = False) -> str:
    if long:
        return f"{count:,} events of matches"
    return f"{count:,} {'match' if count == 1 else 'matches'}" if count else "no matches"


def count_batch(spark: SparkSession, query: Query, scratch: Path, settings: Settings) -> int:
    """The number of matches in the demo's readings, in batch."""
    return int(query.match(running.read_files(spark, _demo_files(scratch, settings))).count())


def count_stream(spark: SparkSession, query: Query, scratch: Path, settings: Settings) -> int:
    """The number of matches in the same readings as a stream, one file at a time."""
    events = running.stream_files(spark, _demo_files(scratch, settings), at_once=1)
    matches = query.match(running.with_watermark(events, settings.time, "1 minute"))
    place, checkpoint = address(str(scratch / "matches")), address(str(scratch / "checkpoint"))
    running.start_stream(matches, place, "parquet", checkpoint, watch=False).awaitTermination()
    rest = pending(spark, query, checkpoint).count()
    return spark.read.parquet(place).count() + rest


def _demo_files(scratch: Path, settings: Settings) -> running.Files:
    return running.Files(address(str(scratch / "readings")), "csv", {}, (), settings.type)
