"""The building blocks of `cepheid run`: a session, events from files or tables, matches into a directory."""

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

from cepheid.engine.session.delays import read_delay
from cepheid.errors import UsageError
from cepheid.spark.checks import check_time
from cepheid.spark.names import column_named
from cepheid.spark.settings import configure

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = [
    "END",
    "FAILURES",
    "DataFrame",
    "Files",
    "RuleSchema",
    "SparkSession",
    "check_java",
    "flat",
    "holds_something",
    "read_files",
    "remove",
    "session",
    "start_stream",
    "stream_control",
    "stream_files",
    "tasks",
    "with_watermark",
    "write_files",
]

OLDEST_JAVA = 17
FAILURES = (PySparkException, Py4JError)
END = "batch=end"
"""The directory of the matches that were pending when a stream ended."""

# With these options a record that cannot be parsed is an error, and not a row of NULLs.
_READ_OPTIONS = {
    "csv": {"header": "true", "inferSchema": "true", "mode": "FAILFAST", "enforceSchema": "false"},
    "json": {"inferTimestamp": "true", "mode": "FAILFAST"},
}
_FILE_FORMATS = ("parquet", "csv", "json", "orc", "text")


@dataclass(frozen=True, slots=True)
class Files:
    """Events in files, as the command line describes them.

    place: the path. form: the format. options: those of Spark's reader.
    first: the columns in the order of the file, for formats whose columns Spark would sort.
    text: a column that is read as text, whatever its values look like.
    """

    place: str
    form: str
    options: Mapping[str, str]
    first: Sequence[str] = ()
    text: str | None = None


@dataclass(frozen=True, slots=True)
class RuleSchema:
    """The columns of the rules of many queries, and which of them has the ids."""

    columns: T.StructType
    id: str

    @property
    def control(self) -> T.StructType:
        """The columns of rows that add and remove such rules."""
        return T.StructType([*self.columns.fields]).add("action", T.StringType()).add("at", T.TimestampType())


def check_java() -> None:
    """Raise an error if there is no Java that Spark can run on."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(os.path.join(home, "bin", "java") if home else "java")
    remedy = f"install Java {OLDEST_JAVA} or newer (apt-get install openjdk-17-jre-headless, brew install openjdk@17)"
    if java is None:
        where = f"JAVA_HOME, which is '{home}'" if home else "the PATH"
        raise UsageError("CEP930", f"Spark needs Java, and there is none in {where}", f"{remedy}, or set JAVA_HOME")
    printed = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', printed)
    if version is not None and int(version[1]) < OLDEST_JAVA:
        raise UsageError("CEP930", f"Spark needs Java {OLDEST_JAVA} or newer, and '{java}' is {version[1]}", remedy)


@contextmanager
def session(master: str, settings: Mapping[str, str], scratch: Path) -> Iterator[SparkSession]:
    """Start a session, and stop it in the end. A session that is already active is used instead, and not stopped.

    scratch: a directory for Spark's warehouse, and for the stderr of the JVM and the workers (`spark.log`).
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
    """Redirect stderr while the JVM starts and inherits it: its first messages cannot be disabled."""
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
    """Read the files as a batch DataFrame."""
    reader = spark.read.format(files.form).options(**_READ_OPTIONS.get(files.form, {}), **files.options)
    if files.form not in ("csv", "json"):
        return reader.load(files.place)
    # The schema is inferred once, and arranged as a stream would have it.
    return reader.schema(_arranged(reader.load(files.place).schema, files)).load(files.place)


def _arranged(inferred: T.StructType, files: Files) -> T.StructType:
    known = {field.name: field for field in inferred}
    names = [name for name in files.first if name in known]
    fields = [known[name] for name in (*names, *(name for name in known if name not in names))]
    return T.StructType([T.StructField(f.name, T.StringType()) if f.name == files.text else f for f in fields])


def stream_files(spark: SparkSession, files: Files, at_once: int | None) -> DataFrame:
    """Read a directory as a stream: the files that are there, then those that are added.

    at_once: the most files in a micro-batch.
    """
    reader = spark.readStream.format(files.form).options(**_READ_OPTIONS.get(files.form, {}), **files.options)
    if at_once is not None:
        reader = reader.option("maxFilesPerTrigger", at_once)
    if files.form in _FILE_FORMATS:
        reader = reader.schema(read_files(spark, files).schema)
    return reader.load(files.place)


def stream_control(spark: SparkSession, place: str, form: str, rules: RuleSchema | None = None) -> DataFrame:
    """Read a directory of control rows, JSON lines or Parquet, as a stream.

    A line that can't be read becomes a row without an id, which is refused: it must not stop the stream.

    rules: of many queries; a row has the columns of a rule.
    """
    id, texts = ("id", ["text"]) if rules is None else (rules.id, [])
    columns = _CONTROL if rules is None else rules.control
    if form != "json":
        return spark.readStream.schema(columns).format(form).load(place)
    with_line = T.StructType([*columns.fields, T.StructField(_LINE, T.StringType())])
    reader = spark.readStream.schema(with_line).option("columnNameOfCorruptRecord", _LINE)
    rows, whole = reader.json(place), F.col(_LINE).isNull()
    read = [F.when(whole, column_named(name)).alias(name) for name in (id, "action")]
    read += [F.coalesce(_LINE, "text").alias("text") for _ in texts]
    others = [column_named(name) for name in columns.names if name not in (id, "action", *texts)]
    return rows.select(*read, *others)


_LINE = "__cepheid_line"
_CONTROL = T.StructType([T.StructField(name, T.StringType()) for name in ("id", "action", "text")])
_CONTROL = _CONTROL.add("at", T.TimestampType())


def with_watermark(events: DataFrame, time: str, delay: object) -> DataFrame:
    """Add a watermark to the time column. Dates, and timestamps without a zone, are read in the session's time zone.

    delay: how late events may be: "10 minutes", a timedelta, or a number of milliseconds.
    """
    microseconds = -(-read_delay("the delay of the watermark", delay, "milliseconds") // 1000)
    kinds = {field.name: field.dataType for field in events.schema}
    kind = kinds.get(time)
    if kind is None:  # `match` raises an error that lists the columns
        return events
    if isinstance(kind, T.TimestampNTZType | T.DateType):
        events = events.withColumn(time, column_named(time).cast("timestamp"))
    elif not isinstance(kind, T.TimestampType):
        check_time(events.schema, time)
    return events.withWatermark(time, f"{microseconds} microseconds")


def write_files(matches: DataFrame, place: str, form: str) -> int:
    """Write the matches of a batch, replace what is there, and return how many they are."""
    observation = Observation("cepheid run")
    _write(matches.observe(observation, F.count(F.lit(1)).alias("matches")), place, form)
    return int(observation.get["matches"])


def _write(matches: DataFrame, place: str, form: str) -> None:
    options = {"header": "true"} if form == "csv" else {}
    (flat(matches) if form == "csv" else matches).write.format(form).mode("overwrite").options(**options).save(place)


def flat(matches: DataFrame) -> DataFrame:
    """Convert columns for CSV as `cepheid match` does: structs to columns such as `a.tag_id`, lists to JSON text.

    Times are written in the zone of the session, and CSV does not say which one that is.
    """
    columns = []
    for field in matches.schema:
        columns += list(_flat(column_named(field.name), field.name, field.dataType))
    return matches.select(*columns)


def _flat(column: Column, name: str, kind: T.DataType) -> Iterator[Column]:
    if isinstance(kind, T.StructType):
        for field in kind:
            yield from _flat(column[field.name], f"{name}.{field.name}", field.dataType)
    elif isinstance(kind, T.ArrayType | T.MapType):
        yield F.to_json(column).alias(name)
    else:
        yield column.alias(name)


def start_stream(matches: DataFrame, place: str, form: str, checkpoint: str, *, watch: bool) -> StreamingQuery:
    """Start a stream that writes micro-batch N to `place/batch=N`.

    A micro-batch that Spark repeats after a crash replaces its directory, so that each match is there exactly once.
    watch: run until stopped, and not only over the files that are there.
    """

    def write(batch: DataFrame, number: int) -> None:
        _write(batch, f"{place}/batch={number}", form)

    writer = matches.writeStream.outputMode("append").option("checkpointLocation", checkpoint).foreachBatch(write)
    writer = writer.trigger(processingTime="1 second") if watch else writer.trigger(availableNow=True)
    return writer.start()


def holds_something(spark: SparkSession, place: str) -> bool:
    """Tell whether a path, on any file system of Spark, is a file or a directory that is not empty."""
    system, path = _hadoop(spark, place)
    return bool(system.exists(path)) and (not system.isDirectory(path) or len(system.listStatus(path)) > 0)


def remove(spark: SparkSession, place: str) -> None:
    """Delete a directory on any file system of Spark."""
    system, path = _hadoop(spark, place)
    system.delete(path, True)


def _hadoop(spark: SparkSession, place: str) -> tuple[JavaObject, JavaObject]:
    context: Any = spark.sparkContext
    path = context._jvm.org.apache.hadoop.fs.Path(place)
    return path.getFileSystem(context._jsc.hadoopConfiguration()), path


def tasks(spark: SparkSession) -> tuple[int, int]:
    """Return how many tasks of the running jobs are done, and how many there are so far."""
    tracker = spark.sparkContext.statusTracker()
    done = known = 0
    for job in tracker.getActiveJobsIds():
        info = tracker.getJobInfo(job)
        for stage in info.stageIds if info else ():
            of = tracker.getStageInfo(stage)
            if of is not None:
                done, known = done + of.numCompletedTasks, known + of.numTasks
    return done, known
