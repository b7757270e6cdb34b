"""A streaming application for kills: `app.py FOLDER MASTER`. Files in, matches out, exactly once if all is well."""

import os
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import cepheid as cep

QUERY = """
PATTERN SEQ(A a, B+ b[], D d, !(C c))
WHERE skip_till_next_match(a, b[], d) { [k] AND b[i].x >= b[1].x AND slow(d.x) >= 0 }
WITHIN 4 seconds
RETURN a.k AS k, a.id AS first, count(b[].id) AS some, sum(b[].id) AS total, d.id AS last
"""
RULES = """
AUTOMATON s -> f
REGISTER n INT = 0, total INT = 0
ARC       s -> m ON A SET total = e.id
ARC more: m -> m ON B WHEN e.x >= 10 SET n = r.n + 1, total = r.total + e.id
IGNORE    m ON A, C, E
IGNORE    m ON B WHEN e.x < 10
ARC done: m -> f ON D WHEN slow(e.x) >= 0
PARTITION BY k
WITHIN 4 seconds
RETURN first.k AS k, first.id AS first, r.n AS some, r.total AS total, last.id AS last
"""
"""Rules that change while the stream runs."""
MANY = """
PATTERN SEQ(A a, B b, D d, !(C c))
WHERE skip_till_next_match(a, b, d) { [k = own] AND a.x > least AND slow(d.x) >= 0 }
WITHIN span
RETURN a.k AS k, a.id AS first, 1 AS some, b.id AS total, d.id AS last
"""
QUICK = """
PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) { [k = own] AND b.x > least } WITHIN span
RETURN a.k AS k, a.id AS first, 0 AS some, 0 AS total, b.id AS last
"""
"""Templates, of which rules come and go while the stream runs."""
SLOW = 7
"""A value for which the function takes a while, with a file that says so."""


def make_query(folder: str | Path, pause: float = 0.5, text: str = QUERY) -> cep.Query:
    """The query. Its function runs in the workers, so that a kill can find one that is busy."""
    busy = f"{folder}/busy"

    def slow(x: int) -> int:
        if x == SLOW and pause:
            marker = f"{busy}/{os.getpid()}"
            with open(marker, "w"):
                time.sleep(pause)
            if os.path.exists(marker):
                os.remove(marker)
        return x

    return cep.Query(text, functions={"slow": slow})


def make_queries(folder: str | Path, pause: float = 0.5) -> cep.Queries:
    """A rule for each key, in a function of which a kill can find a worker that is busy, and others without one."""
    functions = make_query(folder, pause).compiled.functions
    rules = [{"template": "slow", "id": f"u{k}", "own": k, "least": 3, "span": "4 seconds"} for k in range(20)]
    rules += [{"template": "quick", "id": f"q{k}", "own": k, "least": k, "span": "2 seconds"} for k in range(25)]
    templates = {"slow": MANY, "quick": QUICK}
    return cep.Queries(templates, rules, functions=functions)


def make_session(master: str, folder: str) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = cep.spark.configure(SparkSession.builder.master(master).appName("cepheid faults"))
    settings = {
        "spark.driver.memory": "1g",
        "spark.executor.memory": "700m",
        "spark.executor.cores": "1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.local.dir": f"{folder}/local",
        "spark.log.level": "WARN",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def run_stream(spark: SparkSession, folder: str) -> None:
    schema = spark.read.parquet(f"{folder}/in/00000.parquet").schema
    source = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(f"{folder}/in")
    matches: Any = make_query(folder).match(source.withWatermark("ts", "1 second"), buckets=4)
    writer = matches.writeStream.format("parquet").option("path", f"{folder}/out")
    running = writer.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start()
    running.awaitTermination()


def changes_of(spark: SparkSession, folder: str) -> Any:
    """What a stream that speculates changes of its matches. No row is late by so much."""
    schema = spark.read.parquet(f"{folder}/in/00000.parquet").schema
    source = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(f"{folder}/in")
    events: Any = source.withWatermark("ts", "20 seconds")
    return make_query(folder).match(events, buckets=4, speculate="all", op="op")


def run_log(spark: SparkSession, folder: str) -> None:
    """The changes as files."""
    writer = changes_of(spark, folder).writeStream.format("parquet").option("path", f"{folder}/out")
    writer.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start().awaitTermination()


def run_control(spark: SparkSession, folder: str, **options: Any) -> None:
    """Rules that change: each micro-batch has a file of events and one of control rows, as long as there are any."""
    schema = spark.read.parquet(f"{folder}/in/00000.parquet").schema
    source = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(f"{folder}/in")
    columns = "id string, action string, text string, at timestamp"
    control = spark.readStream.schema(columns).option("maxFilesPerTrigger", 1).json(f"{folder}/control")
    events: Any = source.withWatermark("ts", "1 second")
    matches: Any = make_query(folder, text=RULES).match(events, control=control, buckets=4, **options)
    writer = matches.writeStream.format("parquet").option("path", f"{folder}/out")
    writer.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start().awaitTermination()


def run_control_log(spark: SparkSession, folder: str) -> None:
    """The same with speculation."""
    run_control(spark, folder, speculate="all")


def run_many(spark: SparkSession, folder: str) -> None:
    """Many queries, of which some come and go."""
    schema = spark.read.parquet(f"{folder}/in/00000.parquet").schema
    source = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(f"{folder}/in")
    columns = "id string, action string, at timestamp, template string, own long, least long, span string"
    control = spark.readStream.schema(columns).option("maxFilesPerTrigger", 1).json(f"{folder}/control")
    events: Any = source.withWatermark("ts", "1 second")
    matches: Any = make_queries(folder).match(events, control=control, buckets=4, own=True)
    writer = matches.writeStream.format("parquet").option("path", f"{folder}/out")
    writer.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start().awaitTermination()


def run_table(spark: SparkSession, folder: str) -> None:
    """A Delta table that is kept by MERGE, as the example does it."""
    sys.path.append(str(Path(__file__).parents[3] / "examples"))
    from changes_table import DeltaTable, merge

    changes = changes_of(spark, folder)
    columns = spark.createDataFrame([], changes.drop("op").schema).toArrow().schema
    table = DeltaTable.create(f"{folder}/table", columns, mode="ignore")
    writer = changes.writeStream.foreachBatch(lambda batch, _: merge(table, batch))
    writer.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start().awaitTermination()


def run_batch(spark: SparkSession, folder: str) -> None:
    matches: Any = make_query(folder).match(spark.read.parquet(f"{folder}/in"), partitions=4)
    matches.write.mode("overwrite").parquet(f"{folder}/out")


if __name__ == "__main__":
    mode, folder, master = sys.argv[1:]
    session = make_session(master, folder)
    modes = {"stream": run_stream, "batch": run_batch, "log": run_log, "table": run_table}
    modes |= {"control": run_control, "control_log": run_control_log, "many": run_many}
    modes[mode](session, folder)
    session.stop()
