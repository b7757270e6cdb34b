"""A checkpoint that is damaged or of another query is told of; it never gives other matches without a word."""

import os
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from app import make_query
from harness import PATIENCE, as_rows, expected, make_events, sink, write_events

import cepheid as cep
from cepheid.testing.spark import TOO_BUSY

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

OTHER = "PATTERN SEQ(A a, B b) WHERE [k] WITHIN 4 seconds RETURN a.id AS first, b.id AS last"


def run(spark: Any, folder: Path, query: cep.Query, buckets: int = 4, out: str = "out") -> None:
    """Whatever is there of the files, to the end."""
    schema = spark.read.parquet(str(folder / "in" / "00000.parquet")).schema
    source = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    matches: Any = query.match(source.withWatermark("ts", "1 second"), buckets=buckets)
    writer = matches.writeStream.format("parquet").option("path", str(folder / out))
    writer = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    for attempt in range(4):
        running = writer.start()
        try:
            assert running.awaitTermination(PATIENCE)
            return
        except Exception as error:
            if TOO_BUSY not in str(error) or attempt == 3:
                raise
        finally:
            running.stop()


@pytest.fixture
def half(spark: Any, tmp_path: Path) -> Path:
    """A stream of which the last files are still to come: `later` brings them."""
    write_events(make_events(4, 800), tmp_path, 3)
    (tmp_path / "later").mkdir()
    for name in ("00002.parquet", "00003.parquet"):
        os.rename(tmp_path / "in" / name, tmp_path / "later" / name)
    run(spark, tmp_path, make_query(tmp_path, pause=0))
    return tmp_path


def later(folder: Path) -> None:
    for file in sorted((folder / "later").iterdir()):
        os.rename(file, folder / "in" / file.name)


@pytest.mark.smoke
def test_that_a_stream_goes_on_where_it_was(spark: Any, half: Path) -> None:
    later(half)
    run(spark, half, make_query(half, pause=0))
    assert sink(spark, half) == expected(make_events(4, 800), half)


def test_that_what_is_pending_belongs_to_the_rest(spark: Any, half: Path) -> None:
    """What a checkpoint still holds and what it gave are the matches of the events so far; and it goes on after."""
    events = make_events(4, 800)
    size = -(-800 // 3)
    pending = as_rows(
        cep.spark.pending(spark, make_query(half, pause=0), str(half / "checkpoint")).toArrow().to_pylist()
    )
    assert pending
    assert sink(spark, half) + pending == expected(events.slice(0, 2 * size), half)
    test_that_a_stream_goes_on_where_it_was(spark, half)


@pytest.mark.parametrize("change", ["query", "buckets", pytest.param("parameter", marks=pytest.mark.slow)])
def test_that_a_foreign_checkpoint_is_refused(change: str, spark: Any, half: Path) -> None:
    query, buckets = make_query(half, pause=0), 4
    if change == "query":
        query = cep.Query(OTHER)
    elif change == "buckets":
        buckets = 5
    else:
        query = cep.Query(make_query(half).text.replace("4 seconds", "5 seconds"), functions=query.compiled.functions)
    later(half)
    with pytest.raises(Exception, match=r"error CEP\d+: .*checkpoint(.|\n)*help: \S") as caught:
        run(spark, half, query, buckets, out="other")
    assert re.search(r"error CEP9\d\d", str(caught.value))


def flip(file: Path) -> None:
    """Other bytes of the same number; the sum that Hadoop keeps beside it must not tell, we or RocksDB must."""
    blob = bytearray(file.read_bytes())
    chance = random.Random(len(blob))
    for _ in range(max(3, len(blob) // 20)):
        blob[chance.randrange(len(blob))] ^= 0xFF
    replace(file, bytes(blob))


def truncate(file: Path) -> None:
    replace(file, file.read_bytes()[: file.stat().st_size // 2])


def replace(file: Path, blob: bytes) -> None:
    file.write_bytes(blob)
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def state_files(checkpoint: Path) -> list[Path]:
    found = [*checkpoint.glob("state/0/*/*.zip"), *checkpoint.glob("state/0/*/*.changelog")]
    return [file for file in found if "_metadata" not in file.parts and file.stat().st_size > 200]


def offset_files(checkpoint: Path) -> list[Path]:
    return sorted((checkpoint / "offsets").glob("[0-9]*"), key=lambda file: int(file.name))[-1:]


def commit_files(checkpoint: Path) -> list[Path]:
    return sorted((checkpoint / "commits").glob("[0-9]*"), key=lambda file: int(file.name))[-1:]


TELLING = r"(?i)CEP\d+|checkpoint|state|offset|commit|zip|checksum|corrupt|malformed|incomplete log"
DAMAGES = [
    pytest.param(state_files, flip, id="state, other bytes"),
    pytest.param(state_files, truncate, id="state, half of it", marks=pytest.mark.slow),
    pytest.param(state_files, lambda file: replace(file, b""), id="state, empty", marks=pytest.mark.slow),
    pytest.param(state_files, lambda file: file.unlink(), id="state, gone"),
    pytest.param(offset_files, truncate, id="offsets, half of them"),
    pytest.param(offset_files, lambda file: replace(file, b""), id="offsets, empty", marks=pytest.mark.slow),
    pytest.param(commit_files, lambda file: replace(file, b""), id="commits, empty", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("files", "damage"), DAMAGES)
def test_that_a_damaged_checkpoint_is_an_error(
    files: Callable[[Path], list[Path]], damage: Callable[[Path], None], spark: Any, half: Path
) -> None:
    damaged = files(half / "checkpoint")
    assert damaged
    for file in damaged:
        damage(file)
    later(half)
    # A store that is still loaded would not read the files: as in a new process, there is none.
    spark._jvm.org.apache.spark.sql.execution.streaming.state.StateStore.stop()
    before = sink(spark, half)
    with pytest.raises(
        Exception, match=r"(?i)CEP\d+|checkpoint|state|offset|commit|log|zip|checksum|corrupt"
    ) as caught:
        run(spark, half, make_query(half, pause=0))
    said = str(caught.value).split("=== Streaming Query ===")[0]
    assert re.search(TELLING, said), said
    assert "NullPointerException" not in said
    assert TOO_BUSY not in said
    assert sink(spark, half) == before, "nothing was written from what is damaged"
