"""A script of a user under `mypy --strict`, with Cepheid as an installed package."""

import os
import subprocess
import sys
from pathlib import Path

import cepheid

SOURCES = Path(cepheid.__file__).parents[1]
SCRIPT = """
from typing import Any, assert_type

from pyspark.sql import DataFrame, SparkSession

import cepheid as cep

rows = [{"ts": 1, "type": "A", "x": 2.0}]
query = cep.Query("PATTERN SEQ(A a, B b) WITHIN 1 second", params={"low": 1}, functions={"f": abs}, unit="s")
matches = query.match(rows, limit=3)
assert_type(matches, cep.Matches)
assert_type(matches[0], dict[str, Any])
assert_type(matches[:1], cep.Matches)
assert_type([row["a"] for row in matches], list[Any])
assert_type(matches.count(), int)

session = query.session(lateness=5, late="drop")
assert_type(session, cep.Session)
assert_type(session.push(rows), cep.Matches)
assert_type(session.stats.events, int)
assert_type(query.restore(session.snapshot()), cep.Session)
ahead = query.session(lateness=5, speculate="all", op="op")
assert_type(ahead, cep.ChangeSession)
changes: cep.Changes = ahead.revise(rows, rows)
assert_type(changes.added, cep.Matches)
last: cep.Changes = ahead.close()

a, b = cep.var("a"), cep.var("b")
draft = cep.seq(cep.event("A", a), cep.event("B", b)).where(a.x > 1, b.x == a.x).within("1 hour")
assert_type(draft, cep.Draft)
assert_type(cep.Query(draft).text, str)
assert_type(cep.max(a.x), cep.Column)


def on_spark(spark: SparkSession, df: DataFrame) -> None:
    assert_type(cep.spark.match(df, query, partitions=4), DataFrame)
    assert_type(query.match(df, direct=False), DataFrame)
    assert_type(df.transform(cep.spark.match, query), DataFrame)
    assert_type(cep.spark.sql(spark, "FROM readings PATTERN A a"), DataFrame)
    assert_type(cep.spark.pending(spark, query, "checkpoint"), DataFrame)
    assert_type(cep.spark.metrics({"batchId": 1}), dict[str, int])
    assert_type(cep.spark.explain(df, query).text, str)
    builder = cep.spark.configure(SparkSession.Builder().master("local[2]"))
    assert_type(builder, SparkSession.Builder)
    cep.spark.match(df, "PATTERN A a")  # wrong
"""


def test_a_script_of_a_user(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(SOURCES.parent / ".mypy_cache" / "user")]
    # Errors in an installed package are not the user's, and mypy does not report them.
    command += ["--follow-imports=silent", "--no-error-summary", "--hide-error-context", script.name]
    environment = {**os.environ, "MYPYPATH": str(SOURCES)}
    found = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    wrong = SCRIPT[: SCRIPT.index("  # wrong")].count("\n") + 1
    argument = 'Argument 2 to "match" has incompatible type "str"; expected "Query"  [arg-type]'
    assert found.stdout == f"script.py:{wrong}: error: {argument}\n"
    assert (SOURCES / "cepheid" / "py.typed").exists()
