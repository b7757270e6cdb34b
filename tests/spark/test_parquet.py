"""Tasks that read Parquet files themselves: the same matches, and a reason where they don't."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepheid as cep
from cepheid.errors import UsageError
from cepheid.spark import worker
from cepheid.spark.codes import with_codes
from cepheid.spark.entry import explain, match
from cepheid.spark.job import make_job
from cepheid.spark.options import Options
from cepheid.spark.parquet import DirectScan, find_direct_scan, pipeline
from cepheid.spark.parquet.buckets import bucket_numbers
from cepheid.testing.outcomes import to_json

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

THEFT = "PATTERN SEQ(Shelf a, !(Register b), Exit c) WHERE [tag] WITHIN 60 RETURN a.tag AS tag, a.ts AS a, c.ts AS c"
KINDS = ("Shelf", "Register", "Exit", "Cart")


def readings(count: int = 4_000, tags: int = 20, seed: int = 1) -> pa.Table:
    """With ties, NULLs, and a type that the query does not ask for."""
    rng = np.random.default_rng(seed)
    tag = rng.integers(0, tags, count)
    return pa.table(
        {
            "ts": np.sort(rng.integers(0, 2 * count, count)),
            "type": rng.choice(KINDS, count),
            "tag": pa.array([None if t == 3 else int(t) for t in tag], pa.int64()),
            "name": pa.array([None if t == 5 else f"tag é {t % 7}" for t in tag.tolist()]),
            "price": rng.normal(10, 3, count).round(2),
        }
    )


def write(folder: Path, events: pa.Table, files: int = 3, **options: Any) -> str:
    folder.mkdir()
    size = -(-events.num_rows // files)
    for k in range(files):
        pq.write_table(events.slice(k * size, size), folder / f"part-{k}.parquet", row_group_size=400, **options)
    return str(folder)


def rows(found: list[dict[str, Any]]) -> list[str]:
    return sorted(map(to_json, found))


def spark_rows(found: Any) -> list[str]:
    return rows(found.toArrow().to_pylist())


def same(spark: Any, folder: str, query: cep.Query, events: pa.Table, **options: Any) -> None:
    df = spark.read.parquet(folder)
    assert isinstance(find_direct_scan(make_job(df, query, Options(**options))), DirectScan)
    expected = rows(query.match(events).to_pylist())
    assert spark_rows(match(df, query, direct=True, **options)) == expected
    assert expected


def why_not(df: Any, query: cep.Query | None = None, **options: Any) -> str:
    found = find_direct_scan(make_job(df, query or cep.Query(THEFT), Options(**options)))
    assert isinstance(found, str), found
    return found


def test_that_tasks_give_the_matches_of_the_embedded_engine(spark: Any, tmp_path: Path) -> None:
    events = readings()
    folder = write(tmp_path / "events", events)
    same(spark, folder, cep.Query(THEFT), events)
    same(spark, folder, cep.Query(THEFT), events, pushdown=False)
    whole = "PATTERN SEQ(Shelf a, Exit+ b[]) WHERE skip_till_next_match { [tag, name] AND a.price > 12 } WITHIN 30"
    same(spark, folder, cep.Query(whole), events, partitions=3)


def test_that_null_keys_are_one_partition(spark: Any, tmp_path: Path) -> None:
    """And strings, several keys and dictionaries."""
    events = readings(600)
    folder = write(tmp_path / "events", events)
    for key in ("tag", "name", "name, tag", "price"):
        same(spark, folder, cep.Query(f"PATTERN SEQ(Shelf a, Exit b) PARTITION BY {key} WITHIN 400"), events)


def test_that_buckets_with_many_events_are_matched_in_parts(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that lie across each other in time; what runs in the workers is called here, where it can be made small."""
    events = readings(3_000)
    folder = Path(write(tmp_path / "events", events.take(np.argsort(np.arange(3_000) % 5, kind="stable"))))
    query = cep.Query(THEFT)
    job = make_job(spark.read.parquet(str(folder)), query, Options())
    direct = find_direct_scan(job)
    assert isinstance(direct, DirectScan)
    for module, name in ((pipeline, "READ_ROWS"), (pipeline, "PACK_ROWS"), (worker, "AT_ONCE"), (worker, "PUSH")):
        monkeypatch.setattr(module, name, 100)
    tasks = pa.RecordBatch.from_pydict({"id": list(range(len(direct.tasks)))})
    worker_query = with_codes(job.worker_query)
    read = pipeline.file_reader(worker_query, direct, ("tag",), job.pushdown)(iter([tasks]))
    blobs = pa.Table.from_batches(list(read)).sort_by([("bucket", "ascending"), ("low", "ascending")])
    assert len(blobs) > 10
    found = list(pipeline.bucket_matcher(worker_query)(iter(blobs.to_batches())))
    assert rows(pa.Table.from_batches(found).to_pylist()) == rows(query.match(events).to_pylist())


def test_that_files_without_events_and_filters_without_rows_give_nothing(spark: Any, tmp_path: Path) -> None:
    events = readings(100)
    folder = write(tmp_path / "events", events)
    pq.write_table(events.slice(0, 0), tmp_path / "events" / "part-9.parquet")
    same(spark, folder, cep.Query(THEFT.replace("60", "600")), events)
    nothing = cep.Query("PATTERN SEQ(Nothing a, Never b) WHERE [tag] WITHIN 60")
    df = spark.read.parquet(folder)
    assert match(df, nothing, direct=True).collect() == []
    far = cep.Query("PATTERN SEQ(Shelf a, Exit b) WHERE [tag] AND a.ts > 10000 AND b.ts > 10000 WITHIN 60")
    assert str(find_direct_scan(make_job(df, far, Options()))).startswith("4 files, 0 of 4 row groups, read by 0 tasks")
    assert match(df, far, direct=True).collect() == []
    empty = write(tmp_path / "empty", events.slice(0, 0), files=1)
    assert match(spark.read.parquet(empty), cep.Query(THEFT), direct=True).collect() == []


def test_that_row_groups_with_nothing_of_interest_are_not_read(spark: Any, tmp_path: Path) -> None:
    """But those that have NaN, which the least and the greatest value of a group do not tell."""
    prices = [nan, 1.0, 1.0, 2.0, 9.0, 1.0, 3.0, 1.0]
    events = pa.table({"ts": range(8), "type": ["A", "B"] * 4, "k": [1] * 8, "price": prices})
    (tmp_path / "events").mkdir()
    pq.write_table(events, tmp_path / "events" / "part.parquet", row_group_size=2)
    query = cep.Query("PATTERN SEQ(A a, A b) WHERE [k] AND a.price > 4 AND b.price > 4 WITHIN 99")
    same(spark, str(tmp_path / "events"), query, events)
    late = cep.Query("PATTERN SEQ(A a, B b) WHERE [k] AND a.ts >= 4 AND b.ts >= 4 WITHIN 99")
    found = find_direct_scan(make_job(spark.read.parquet(str(tmp_path / "events")), late, Options()))
    assert str(found) == "1 files, 2 of 4 row groups, read by 2 tasks, matched in 4 buckets of keys"
    same(spark, str(tmp_path / "events"), late, events)


def test_that_every_type_comes_through(spark: Any, tmp_path: Path) -> None:
    count = 40
    at = [datetime(2024, 3, 31, 1, 30, k, tzinfo=UTC) for k in range(count)]
    events = pa.table(
        {
            "at": pa.array(at, pa.timestamp("us", "UTC")),
            "type": pa.array(["A", "B"] * (count // 2)),
            "k": pa.array([Decimal(k % 3) for k in range(count)], pa.decimal128(9, 2)),
            "day": pa.array([date(2024, 1, 1 + k % 9) for k in range(count)]),
            "wall": pa.array([datetime(2024, 1, 1, 1 + k % 3) for k in range(count)], pa.timestamp("us")),
            "small": pa.array([k % 5 for k in range(count)], pa.int8()),
            "ok": pa.array([bool(k % 2) for k in range(count)]),
            "g": pa.array([nan if k % 4 else k / 3 for k in range(count)], pa.float32()),
            "raw": pa.array([bytes([k % 3]) for k in range(count)]),
            "big": pa.array([-(2**63) if k == 1 else 2**63 - 1 - k for k in range(count)], pa.int64()),
            "gone": pa.array([None] * count, pa.int64()),
        }
    )
    folder = write(tmp_path / "events", events)
    for key in ("k", "day, ok", "wall", "small", "g", "raw"):
        query = cep.Query(f"PATTERN SEQ(A a, A b) PARTITION BY {key} WITHIN 20 seconds", time="at")
        same(spark, folder, query, events)


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_that_the_zone_of_the_session_is_that_of_the_matches(spark: Any, tmp_path: Path, zone: str) -> None:
    kept = spark.conf.get("spark.sql.session.timeZone")
    at = [datetime(2024, 3, 31, 1, k, tzinfo=UTC) for k in range(6)]
    events = pa.table({"at": pa.array(at, pa.timestamp("us", "UTC")), "type": ["A", "B"] * 3, "k": [1] * 6})
    folder = write(tmp_path / "events", events)
    query = cep.Query("PATTERN SEQ(A a, B b) WHERE [k] AND b.at > '2024-03-31 01:02:00+00:00' WITHIN 1 hour", time="at")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        df = spark.read.parquet(folder)
        assert match(df, query, direct=True).collect() == match(df, query, direct=False).collect() != []
    finally:
        spark.conf.set("spark.sql.session.timeZone", kept)


def test_that_equal_keys_are_in_one_bucket() -> None:
    def buckets(*columns: pa.Array) -> list[int]:
        table = pa.table(list(columns), names=[str(k) for k in range(len(columns))])
        return bucket_numbers(table, table.column_names, 1 << 30).tolist()  # type: ignore[no-any-return]

    zero, minus, first, other = buckets(pa.array([0.0, -0.0, nan, -nan]))
    assert zero == minus
    assert first == other
    words = pa.array(["é", "b", None, "é"])
    assert buckets(words) == buckets(words.dictionary_encode())
    assert buckets(words)[0] == buckets(words)[3] != buckets(words)[1]
    numbers = pa.array([1, 2, None, 1])
    assert buckets(numbers, words) != buckets(words, numbers)
    assert buckets(numbers, words)[0] == buckets(numbers, words)[3]
    assert len({*buckets(pa.array(range(1_000)))}) == 1_000
    spread = np.bincount(bucket_numbers(pa.table({"k": range(10_000)}), ["k"], 8))
    assert spread.min() > 1_000


Change = Callable[[Any], Any]
REASONS: list[tuple[str, Change]] = [
    ("it is not a plain Parquet scan: the logical plan has Filter", lambda df: df.where("ts > 3")),
    ("it is not a plain Parquet scan: the logical plan has GlobalLimit", lambda df: df.limit(3)),
    ("it is not a plain Parquet scan: the logical plan has Union", lambda df: df.union(df)),
    ("column tag is computed or renamed above the scan", lambda df: df.selectExpr("ts", "type", "tag + 1 AS tag")),
    ("column tag is computed or renamed above the scan", lambda df: df.drop("tag").withColumnRenamed("price", "tag")),
]


@pytest.mark.parametrize(("reason", "change"), REASONS)
def test_that_a_plan_that_is_no_scan_tells_why(spark: Any, tmp_path: Path, reason: str, change: Change) -> None:
    df = spark.read.parquet(write(tmp_path / "events", readings(50)))
    assert why_not(change(df)) == reason


def test_that_views_and_a_choice_of_columns_are_no_obstacle(spark: Any, tmp_path: Path) -> None:
    events = readings(500)
    df = spark.read.parquet(write(tmp_path / "events", events))
    df.createOrReplaceTempView("readings_of_files")
    query, expected = cep.Query(THEFT), rows(cep.Query(THEFT).match(events).to_pylist())
    for chosen in (df.select("price", "tag", "type", "ts"), spark.table("readings_of_files"), df.alias("x")):
        assert spark_rows(match(chosen, query, direct=True)) == expected


def test_that_odd_scans_tell_why(spark: Any, tmp_path: Path) -> None:
    events = readings(50)
    folder = write(tmp_path / "events", events)
    assert why_not(spark.read.parquet(folder, mergeSchema=True)) == "the scan has the option mergeschema"
    assert (
        why_not(spark.read.parquet(folder, recursiveFileLookup=True)) == "the scan has the option recursivefilelookup"
    )
    read = spark.read
    read.parquet(folder).write.partitionBy("type").parquet(str(tmp_path / "parted"))
    assert why_not(read.parquet(str(tmp_path / "parted"))) == "the files are partitioned by directory"
    read.parquet(folder).write.orc(str(tmp_path / "orc"))
    assert why_not(read.orc(str(tmp_path / "orc"))) == "the files are read as OrcFileFormat"
    cached = read.parquet(folder).cache()
    assert why_not(cached) == "the DataFrame is cached"
    cached.unpersist()
    assert why_not(spark.createDataFrame(events.to_pandas())).startswith("it is not a plain Parquet scan")
    read.parquet(folder).write.bucketBy(2, "tag").saveAsTable("bucketed_readings")
    try:
        assert why_not(spark.table("bucketed_readings")) == "the table is bucketed"
    finally:
        spark.sql("DROP TABLE bucketed_readings")


def test_that_settings_which_change_a_scan_tell_why(spark: Any, tmp_path: Path) -> None:
    df = spark.read.parquet(write(tmp_path / "events", readings(50)))
    name = "spark.sql.files.ignoreCorruptFiles"
    spark.conf.set(name, "true")
    try:
        assert why_not(df) == f"{name} is true"
    finally:
        spark.conf.unset(name)


def test_that_columns_which_spark_reads_in_its_own_way_tell_why(spark: Any, tmp_path: Path) -> None:
    def reason(name: str, column: pa.Array, schema: str | None = None, **options: Any) -> str:
        table = pa.table({"ts": pa.array([1, 2]), "type": ["Shelf", "Exit"], "tag": [1, 1], "more": column})
        folder = write(tmp_path / name, table, files=1, **options)
        df = (spark.read.schema(schema) if schema else spark.read).parquet(folder)
        return why_not(df, cep.Query("PATTERN SEQ(Shelf a, Exit c) WHERE [tag] WITHIN 9"))

    moments = pa.array([datetime(2024, 1, 1), None], pa.timestamp("ns"))
    assert "more is timestamp[ns]" in reason("int96", moments, use_deprecated_int96_timestamps=True)
    assert "more is timestamp[ms]" in reason("ms", moments.cast(pa.timestamp("ms")))
    assert "more is uint32" in reason("uint", pa.array([1, 2], pa.uint32()))
    assert "more is list" in reason("list", pa.array([[1], None]))
    assert "more is int32" in reason("wide", pa.array([1, 2], pa.int32()), "ts long, type string, tag long, more long")
    assert "does not have exactly one column extra" in reason(
        "missing", pa.array([1, 2]), "ts long, type string, tag long, more long, extra long"
    )


def test_that_a_file_with_another_schema_tells_why(spark: Any, tmp_path: Path) -> None:
    events = readings(50)
    folder = write(tmp_path / "events", events)
    other = events.set_column(2, "tag", events["tag"].cast(pa.int32()))
    pq.write_table(other, tmp_path / "events" / "part-9.parquet")
    assert why_not(spark.read.schema("ts long, type string, tag long").parquet(folder)) == (
        "column tag is int32 in part-9.parquet, and it is not certain that Spark reads it as int64 like pyarrow"
    )


def test_that_files_of_the_old_calendar_tell_why(spark: Any, tmp_path: Path) -> None:
    events = pa.table({"ts": [1, 2], "type": ["A", "B"], "k": [1, 1], "day": [date(1500, 1, 1)] * 2})
    folder = tmp_path / "events"
    folder.mkdir()
    query = cep.Query("PATTERN SEQ(A a, B b) WHERE [k] WITHIN 9")
    for told in ({"org.apache.spark.legacyDateTime": ""}, {"org.apache.spark.version": "2.4.8"}):
        pq.write_table(events.replace_schema_metadata(told), folder / "part.parquet")
        assert "calendar" in why_not(spark.read.parquet(str(folder)), query)


def test_that_a_file_that_pyarrow_cannot_read_tells_why(spark: Any, tmp_path: Path) -> None:
    folder = write(tmp_path / "events", readings(50))
    df = spark.read.parquet(folder)
    (tmp_path / "events" / "part-1.parquet").write_bytes(b"PAR1 nothing")
    assert why_not(df).startswith("pyarrow can't read the footer of part-1.parquet: ")


def test_that_direct_can_be_forced_and_turned_off(spark: Any, tmp_path: Path) -> None:
    df = spark.read.parquet(write(tmp_path / "events", readings(50)))
    query = cep.Query(THEFT)
    assert "direct Parquet: 3 files" in explain(df, query).text
    assert "direct Parquet: 3 files" not in explain(df, query, direct=False).text
    assert "the logical plan has Filter" in explain(df.where("ts > 3"), query).text
    with pytest.raises(UsageError, match="the logical plan has Filter") as told:
        match(df.where("ts > 3"), query, direct=True)
    assert "leave direct out" in told.value.remedy


def test_the_plan_names_the_files(spark: Any, tmp_path: Path) -> None:
    folder = write(tmp_path / "events", readings(), files=5)
    plan = match(spark.read.parquet(folder), cep.Query(THEFT))._jdf.queryExecution().toString()
    assert f"{folder}/part-0.parquet, {folder}/part-1.parquet, {folder}/part-2.parquet, … (5 files)" in plan


def test_where_a_tool_follows_the_lineage(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings themselves can't change in a session."""
    monkeypatch.setattr("cepheid.spark.parquet.eligibility._LISTENERS", ("spark.cepheid.listener",))
    df = spark.read.parquet(write(tmp_path / "events", readings()))
    spark.conf.set("spark.cepheid.listener", "io.openlineage.spark.agent.OpenLineageSparkListener")
    try:
        assert why_not(df).startswith("spark.cepheid.listener is set, and a tool that follows the lineage")
        assert isinstance(find_direct_scan(make_job(df, cep.Query(THEFT), Options(direct=True))), DirectScan)
    finally:
        spark.conf.unset("spark.cepheid.listener")
