"""A query run on Spark from files or a table into a directory: what `cepheid run` is made of."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from cepheid.errors import UsageError
from cepheid.spark.checks import check_time
from cepheid.spark.settings import configure

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = [
    "END",
    "FAILURES",
    "DataFrame",
    "Files",
    "SparkSession",
    "check_java",
    "flat",
    "holds_something",
    "read_files",
    "remove",
    "session",
    "start_stream",
    "stream_files",
    "tasks",
    "with_watermark",
    "write_files",
]

OLDEST_JAVA = 17
FAILURES = (PySparkException, Py4JError)
END = "batch=end"

# What Spark is told of every source: a record that can't be read is an error, not a row of NULLs.
_READ = {
    "csv": {"header": "true", "inferSchema": "true", "mode": "FAILFAST", "enforceSchema": "false"},
    "json": {"inferTimestamp": "true", "mode": "FAILFAST"},
}
_FILES = ("parquet", "csv", "json", "orc", "text")


@dataclass(frozen=True, slots=True)
class Files:
    """Events in files: where, in which format, and what the command line found out about them."""

    place: str
    form: str
    options: Mapping[str, str]
    first: Sequence[str] = ()
    """The columns in the order of the file, where Spark would sort them."""

    text: str | None = None
    """A column that is text whatever its values look like."""


def check_java() -> None:
    """Refuse to start without a Java that Spark can run on."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(os.path.join(home, "bin", "java") if home else "java")
    remedy = f"install Java {OLDEST_JAVA} or newer (apt-get install openjdk-17-jre-headless, brew install openjdk@17)"
    if java is None:
        where = f"JAVA_HOME, which is '{home}'" if home else "the PATH"
        raise UsageError("CEP930", f"Spark needs Java, and there is none in {where}", f"{remedy}, or set JAVA_HOME")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', said)
    if found is not None and int(found[1]) < OLDEST_JAVA:
        raise UsageError("CEP930", f"Spark needs Java {OLDEST_JAVA} or newer, and '{java}' is {found[1]}", remedy)


@contextmanager
def session(master: str, settings: Mapping[str, str], scratch: Path) -> Iterator[SparkSession]:
    """A session, stopped in the end; one that is active already is used as it is and goes on.

    scratch: a directory for what the JVM and the workers write on stderr (`spark.log`), and for Spark's warehouse.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    check_java()
    builder = SparkSession.Builder().master(master).appName("cepheid run")
    defaults = {
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
    }
    for name, value in defaults.items():
        builder = builder.config(name, value)
    builder = configure(builder)
    for name, value in settings.items():
        builder = builder.config(name, value)
    with _stderr_to(scratch / "spark.log"):
        spark = builder.getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


@contextmanager
def _stderr_to(log: Path) -> Iterator[None]:
    """Start a JVM whose stderr is a file: what it says before its log is set up can't be turned off."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with log.open("ab") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def read_files(spark: SparkSession, files: Files) -> DataFrame:
    """The events of files, now."""
    reader = spark.read.format(files.form).options(**_READ.get(files.form, {}), **files.options)
    if files.form not in ("csv", "json"):
        return reader.load(files.place)
    # Inferred once, and then as the stream would have them.
    return reader.schema(_arranged(reader.load(files.place).schema, files)).load(files.place)


def _arranged(found: T.StructType, files: Files) -> T.StructType:
    known = {field.name: field for field in found}
    names = [name for name in files.first if name in known]
    fields = [known[name] for name in (*names, *(name for name in known if name not in names))]
    return T.StructType([T.StructField(f.name, T.StringType()) if f.name == files.text else f for f in fields])


def stream_files(spark: SparkSession, files: Files, at_once: int | None) -> DataFrame:
    """The events of a directory as a stream: what is there, then whatever is added to it.

    at_once: at most so many files in a micro-batch.
    """
    reader = spark.readStream.format(files.form).options(**_READ.get(files.form, {}), **files.options)
    if at_once is not None:
        reader = reader.option("maxFilesPerTrigger", at_once)
    if files.form in _FILES:
        reader = reader.schema(read_files(spark, files).schema)
    return reader.load(files.place)


def with_watermark(events: DataFrame, time: str, delay: str) -> DataFrame:
    """The stream with its watermark. A timestamp without a zone becomes one in the zone of the session."""
    kinds = {field.name: field.dataType for field in events.schema}
    kind = kinds.get(time)
    if kind is None:  # `match` says so, and what there is
        return events
    if isinstance(kind, T.TimestampNTZType | T.DateType):
        events = events.withColumn(time, F.col(_quoted(time)).cast("timestamp"))
    elif not isinstance(kind, T.TimestampType):
        check_time(events.schema, time)
    return events.withWatermark(time, delay)


def write_files(matches: DataFrame, place: str, form: str) -> int:
    """Write the matches of a batch in place of whatever is there; how many they are."""
    counted = Observation("cepheid run")
    seen = matches.observe(counted, F.count(F.lit(1)).alias("matches"))
    _write(seen, place, form)
    return int(counted.get["matches"])


def _write(matches: DataFrame, place: str, form: str) -> None:
    options = {"header": "true"} if form == "csv" else {}
    (flat(matches) if form == "csv" else matches).write.format(form).mode("overwrite").options(**options).save(place)


def flat(matches: DataFrame) -> DataFrame:
    """Columns that CSV can hold: structs become columns such as `a.tag_id`, lists JSON text, as `cepheid match` does.

    A new session's zone is that of the times: CSV has no other sign of it.
    """
    columns = []
    for field in matches.schema:
        columns += list(_flat(F.col(_quoted(field.name)), field.name, field.dataType))
    return matches.select(*columns)


def _flat(column: Column, name: str, kind: T.DataType) -> Iterator[Column]:
    if isinstance(kind, T.StructType):
        for field in kind:
            yield from _flat(column[field.name], f"{name}.{field.name}", field.dataType)
    elif isinstance(kind, T.ArrayType | T.MapType):
        yield F.to_json(column).alias(name)
    else:
        yield column.alias(name)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def start_stream(matches: DataFrame, place: str, form: str, checkpoint: str, *, watch: bool) -> StreamingQuery:
    """Start a stream whose micro-batch N is written to `place/batch=N`.

    A micro-batch that Spark repeats after a crash replaces its directory, so that each match is there exactly once.
    watch: go on until stopped; else end with what is there.
    """

    def write(found: DataFrame, number: int) -> None:
        _write(found, f"{place}/batch={number}", form)

    writer = matches.writeStream.outputMode("append").option("checkpointLocation", checkpoint).foreachBatch(write)
    writer = writer.trigger(processingTime="1 second") if watch else writer.trigger(availableNow=True)
    return writer.start()


def holds_something(spark: SparkSession, place: str) -> bool:
    """Whether there is a file, or a directory that is not empty, wherever Spark can read."""
    system, path = _hadoop(spark, place)
    return bool(system.exists(path)) and (not system.isDirectory(path) or len(system.listStatus(path)) > 0)


def remove(spark: SparkSession, place: str) -> None:
    """Remove a directory wherever Spark can write."""
    system, path = _hadoop(spark, place)
    system.delete(path, True)


def _hadoop(spark: SparkSession, place: str) -> tuple[Any, Any]:
    context: Any = spark.sparkContext
    path = context._jvm.org.apache.hadoop.fs.Path(place)
    return path.getFileSystem(context._jsc.hadoopConfiguration()), path


def tasks(spark: SparkSession) -> tuple[int, int]:
    """How many tasks of the jobs that run are done, and how many there are so far."""
    tracker = spark.sparkContext.statusTracker()
    done = known = 0
    for job in tracker.getActiveJobsIds():
        info = tracker.getJobInfo(job)
        for stage in info.stageIds if info else ():
            of = tracker.getStageInfo(stage)
            if of is not None:
                done, known = done + of.numCompletedTasks, known + of.numTasks
    return done, known
