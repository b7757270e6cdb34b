"""The state of a bucket in a store without Spark: the same matches, few bytes written, damage detected."""

from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import cepheid as cep
from cepheid.engine.stream.rows import FAN
from cepheid.engine.stream.snapshot import MAGIC, VERSION
from cepheid.errors import CepheidError
from cepheid.spark.codes import CODES, with_codes, without_codes
from cepheid.spark.outputs import match_schema, output_number
from cepheid.spark.packing import PackedEvents, pack, unpack, write
from cepheid.spark.state.bucket import Bucket, BucketOutput
from cepheid.spark.state.cache import BucketCache
from cepheid.spark.state.fingerprint import stream_fingerprint
from cepheid.spark.state.parts import NONCE, read_header
from cepheid.spark.worker import WorkerQuery

SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("type", pa.string()), ("id", pa.int64()), ("x", pa.float64())])
BEGIN = 1_700_000_000_000  # in milliseconds
PAIR = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 10 seconds"
QUERIES = [
    PAIR,
    "PATTERN SEQ(A a, B+ b[], C c) WHERE [id] AND b[i].x > b[i-1].x WITHIN 30 seconds",
    "PATTERN SEQ(A a, B b, !(C c)) WHERE [id] WITHIN 20 seconds",
    "PATTERN SEQ(!(C c), A a, B b) WHERE [id] WITHIN 8 seconds OUTPUT NON_OVERLAP",
    "PATTERN SEQ(A a, B b) WITHIN 5 events",
    "PATTERN SEQ(A a, B b) WITHIN 3 seconds RETURN a.id AS id INTO P; FROM P PATTERN SEQ(P p, !(P q)) WITHIN 9 seconds",
    "PATTERN SEQ(A a, B+ b[]) WHERE skip_till_next_match { [id] AND b[i].x >= b[i-1].x } WITHIN 9 seconds "
    "OUTPUT LONGEST COOLDOWN 15 seconds",
    "PATTERN SEQ(A a, B b) WHERE [id] AND b.x > a.x WITHIN 8 seconds OUTPUT NON_OVERLAP COOLDOWN 9 seconds",
]


class MemoryStore:
    """What a bucket has in Spark's state store."""

    def __init__(self) -> None:
        self.head: bytes | None = None
        self.parts: dict[str, bytes] = {}
        self.written = self.reads = 0

    def header(self) -> bytes | None:
        return self.head

    def put_header(self, header: bytes) -> None:
        self.head = header
        self.written += len(header)

    def part(self, name: str, digest: str) -> bytes | None:
        self.reads += 1
        return self.parts.get(name)

    def put(self, name: str, part: bytes, digest: str) -> None:
        assert type(part) is bytes
        self.parts[name] = part
        self.written += len(part)

    def drop(self, name: str, digest: str) -> None:
        del self.parts[name]

    @property
    def size(self) -> int:
        return len(self.head or b"") + sum(map(len, self.parts.values()))


def worker_query(text: str, engine: str = "auto", schema: pa.Schema = SCHEMA, **options: Any) -> WorkerQuery:
    query = cep.Query(text, **options)
    return with_codes(WorkerQuery(query, schema, match_schema(query, schema), output_number(query, None), engine))


def table(*events: tuple[float, str, int, float] | tuple[float, str, int]) -> pa.Table:
    """Events by their second, type, key and value."""
    rows = [(int((BEGIN + e[0] * 1000) * 1000), e[1], e[2], float(e[3]) if len(e) > 3 else 0.0) for e in events]
    columns = zip(*rows, strict=True) if rows else [[], [], [], []]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)


def some(count: int, seed: int = 0, keys: int = 5) -> list[pa.Table]:
    """Events in cuts of several sizes, out of order by less than five seconds."""
    chance = Random(seed)
    events = [
        (k / 2 + chance.random(), chance.choice("ABC"), chance.randint(1, keys), chance.random()) for k in range(count)
    ]
    events.sort(key=lambda e: e[0] + chance.uniform(0, 4))
    cuts = []
    while events:
        size = chance.choice([1, 10, 40])
        cuts.append(table(*events[:size]))
        events = events[size:]
    return cuts


class Run:
    """A bucket as Spark calls it: each micro-batch has the watermark of those before."""

    def __init__(self, worker_query: WorkerQuery, *, cache: BucketCache | None = None, delay: float = 5) -> None:
        self.worker_query = worker_query
        self.fingerprint = stream_fingerprint(worker_query, 1)
        self.store = MemoryStore()
        self.cache = cache or BucketCache(0)
        self.delay = int(delay * 1000)
        self.watermark = 0
        self.rows: list[dict[str, Any]] = []
        self.late = 0
        self.by_shape = False

    def step(
        self, events: pa.Table | None = None, *, late: str = "drop", store: MemoryStore | None = None
    ) -> BucketOutput:
        store = store or self.store
        bucket = self.cache.take(self.worker_query, self.fingerprint, 0, store, by_shape=self.by_shape)
        arrived = []
        if events is not None and events.num_rows:
            times = events["ts"].cast(pa.int64()).to_pylist()
            arrived = [PackedEvents(write(self.worker_query.conform(events)), min(times), max(times), len(times))]
        output = bucket.take(arrived, self.watermark if self.watermark > 0 else None, late)
        bucket.timer = bucket.due()
        bucket.save(store)
        self.cache.put(bucket, 0, 1)
        return output

    def batch(self, events: pa.Table | None = None, **options: Any) -> None:
        output = self.step(events, **options)
        self.late += output.late
        self.rows += self.of(output.matches)
        if events is not None and events.num_rows:
            latest = max(events["ts"].cast(pa.int64()).to_pylist()) // 1000
            self.watermark = max(self.watermark, latest - self.delay)

    def of(self, matches: cep.Matches | None) -> list[dict[str, Any]]:
        return (
            [row for part in self.worker_query.tables(matches) for row in part.to_pylist()]
            if matches is not None
            else []
        )

    def bucket(self) -> Bucket:
        found = Bucket(self.worker_query, self.fingerprint, by_shape=self.by_shape)
        found.load(self.store)
        return found

    def end(self) -> list[dict[str, Any]]:
        self.rows += self.of(self.bucket().close())
        return self.rows


def in_order(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in rows)


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("room", [0, 1000], ids=["read", "cached"])
def test_the_same_matches_in_any_cuts(text: str, room: int) -> None:
    for seed in range(3):
        run = Run(worker_query(text, engine="plain"), cache=BucketCache(room))
        cuts = some(200, seed)
        for cut in cuts:
            run.batch(cut)
            run.batch()  # Spark's micro-batch without events, which moves the watermark
        assert run.late == 0
        assert in_order(run.end()) == in_order(run.worker_query.query.match(pa.concat_tables(cuts)).to_pylist())


def test_a_task_that_failed_leaves_nothing() -> None:
    """What a worker has cached is a state that was not committed: it must not be used."""
    run = Run(worker_query(QUERIES[1], engine="plain"), cache=BucketCache(1000))
    cuts = some(200)
    for number, cut in enumerate(cuts):
        if number % 3 == 1:
            run.step(cut, store=deepcopy(run.store))
        run.batch(cut)
    assert in_order(run.end()) == in_order(run.worker_query.query.match(pa.concat_tables(cuts)).to_pylist())


def test_what_is_cached_is_not_read() -> None:
    long = worker_query("PATTERN SEQ(A a, B b) WHERE [id] AND a.x < 0 WITHIN 1 hour", engine="plain")
    for room, read in ((0, True), (1000, False)):
        run = Run(long, cache=BucketCache(room))
        for cut in some(600):
            run.batch(cut)
        assert bool(run.store.reads) is read


def test_a_commit_writes_what_is_new() -> None:
    """Rows that stay are not written again, however many there are."""
    chance = Random(1)
    run = Run(
        worker_query("PATTERN SEQ(A a, B b, C c) WHERE [id] AND a.x > 2 WITHIN 10 hours", engine="plain"), delay=1
    )
    sizes = []
    for number in range(120):
        events = [
            (number * 200 + k, chance.choice("AX"), chance.randint(1, 50), chance.random() * 2.2) for k in range(200)
        ]
        before = run.store.written
        run.batch(table(*events))
        sizes.append(run.store.written - before)
    # Each row is written once while it waits, once when it is in order, and twice when segments are merged.
    assert sum(sizes[60:]) / 60 < run.store.size / 10
    assert len(run.store.parts) < 4 * FAN


def test_many_small_batches_within_a_long_delay() -> None:
    run = Run(worker_query(PAIR, engine="plain"), delay=3600)
    cuts = [table((k, "AB"[k % 2], k % 7)) for k in range(400)]
    for cut in cuts:
        run.batch(cut)
    assert len(run.store.parts) < 3 * FAN
    assert in_order(run.end()) == in_order(run.worker_query.query.match(pa.concat_tables(cuts)).to_pylist())


def test_what_waits_is_written_once() -> None:
    """However long the events wait, and however the watermark cuts through those that came together."""
    run = Run(worker_query(PAIR, engine="plain"), delay=1000)
    chance = Random(2)
    sizes = []
    for number in range(60):
        at = sorted(number * 20 + chance.uniform(-400, 20) for _ in range(300))
        before = run.store.written
        run.batch(table(*((second, "XY"[k % 2], k % 7, chance.random()) for k, second in enumerate(at))))
        sizes.append(run.store.written - before)
    assert run.watermark > BEGIN  # it has passed some of the events, and most wait
    assert run.store.size > 100_000
    # A batch, its header, and now and then eight batches that are merged.
    assert sum(sizes[30:]) / 30 < run.store.size / 10


def test_strings_stay_codes() -> None:
    """Those of the type and of what conditions read; and words that no row has are not stored."""
    query = cep.Query("PATTERN SEQ(A a, B b) WHERE [id] AND a.s = b.s WITHIN 10 seconds RETURN a.t AS t")
    strings = SCHEMA.append(pa.field("s", pa.string())).append(pa.field("t", pa.string()))
    coded = with_codes(WorkerQuery(query, strings, match_schema(query, strings), 0))
    assert [field.name for field in coded.event_schema if field.type == CODES] == ["type", "s"]
    assert without_codes(coded.event_schema).equals(strings)
    words = pa.array([f"word {k}" for k in range(1000)])
    events = coded.conform(
        table(*((k, "AB"[k % 2], 1) for k in range(1000))).append_column("s", words).append_column("t", words)
    )
    first = unpack(write(events.slice(0, 40)))
    assert first.schema.equals(coded.event_schema)
    assert first.to_pylist() == events.slice(0, 40).to_pylist()
    assert len(first.column("s").chunk(0).dictionary) == 40


def test_events_are_packed_in_the_order_of_time() -> None:
    events = table((3, "A", 1), (1, "B", 2), (2, "A", 3), (1, "A", 4))
    times = events["ts"].cast(pa.int64()).to_numpy()
    first, second, third = (1000 * (BEGIN + 1000 * second) for second in (1, 2, 3))
    found = {
        bucket: (unpack(blob)["id"].to_pylist(), *facts)
        for bucket, (blob, *facts) in pack(events, times, np.array([0, 2, 0, 2]))
    }
    assert found == {0: ([3, 1], second, third, 2), 2: ([2, 4], first, first, 2)}


def test_a_bucket_with_nothing_left_is_a_header() -> None:
    run = Run(worker_query(PAIR, engine="plain"))
    for cut in some(300):
        run.batch(cut)
    assert run.store.size > 5_000
    run.watermark += 60_000
    run.batch()
    assert run.store.parts == {}
    assert run.store.size < 1_500
    assert run.bucket().timer is None
    run.batch(table((1000, "A", 1), (1001, "B", 1)))
    assert len(run.end()) == len(run.worker_query.query.match(pa.concat_tables(some(300))).to_pylist()) + 1


def test_the_state_is_as_large_as_the_window() -> None:
    run = Run(worker_query("PATTERN SEQ(A a, B b) WHERE [id] AND a.x < 0.1 WITHIN 20 seconds", engine="plain"), delay=1)
    sizes = []
    for number in range(60):
        run.batch(table(*((number * 20 + k / 10, "ABC"[k % 3], k % 11, k % 7 / 7) for k in range(200))))
        sizes.append(run.store.size)
    assert max(sizes[30:]) < 1.2 * max(sizes[10:30])


def test_when_a_bucket_wants_to_be_called() -> None:
    run = Run(worker_query("PATTERN SEQ(A a, B b, !(C c)) WHERE [id] WITHIN 20 seconds", engine="plain"))
    run.batch(table((3, "A", 1), (5, "B", 1)))
    assert run.bucket().timer == BEGIN + 3_000  # the first event that waits
    run.watermark = BEGIN + 10_000
    run.batch()
    assert run.bucket().timer == BEGIN + 22_999  # the end of the window
    run.watermark = BEGIN + 23_000
    run.batch()
    assert len(run.rows) == 1
    assert run.bucket().timer == BEGIN + 24_999  # of the last one: then all is over
    run.watermark = BEGIN + 25_000
    run.batch()
    assert run.bucket().timer is None


def test_a_tick_before_the_watermark() -> None:
    """Watermarks are in milliseconds, events in microseconds."""
    run = Run(worker_query(PAIR, engine="plain"))
    run.step(table((1.0009, "A", 1), (2, "B", 1)))
    assert run.bucket().timer == BEGIN + 1000
    run.watermark = BEGIN + 1001
    run.batch()
    assert run.bucket().timer == BEGIN + 2000
    run.watermark = BEGIN + 2001
    run.batch()
    assert len(run.rows) == 1


def test_late_events() -> None:
    run = Run(worker_query(PAIR, engine="plain"), delay=10)
    run.batch(table((0, "A", 1), (50, "A", 1)))
    run.batch(table((39.999, "B", 1), (40, "B", 1), (52, "B", 1)))
    assert run.late == 1
    assert len(run.end()) == 1
    with pytest.raises(CepheidError, match=r"1 of 2 events.*12:00|1 of 2 events") as caught:
        run.step(table((60, "A", 1), (1, "A", 1)), late="error")
    assert caught.value.code == "CEP408"
    assert "withWatermark" in caught.value.remedy


def test_events_before_1970_wait() -> None:
    run = Run(worker_query(PAIR, engine="plain"))
    run.batch(table((-BEGIN / 1000 - 20, "A", 1), (-BEGIN / 1000 - 15, "B", 1)))
    assert run.watermark == 0
    run.batch()
    assert run.rows == []
    run.batch(table((0, "A", 1)))
    run.batch()
    assert len(run.rows) == 1


def test_a_compiled_session_goes_on() -> None:
    run = Run(worker_query(PAIR, engine="compiled"))
    cuts = some(300)
    for cut in cuts:
        run.batch(cut)
    assert in_order(run.end()) == in_order(run.worker_query.query.match(pa.concat_tables(cuts)).to_pylist())


# What is not as it was.


ROWS = "PATTERN SEQ(A a, B b) WHERE [id] AND a.x > 0.5 WITHIN 1 hour"  # a body that fits into the header
CHUNKS = "PATTERN SEQ(A a, B+ b[], C c) WHERE [id] AND b[i].x > b[i-1].x WITHIN 1 hour"  # one that does not


def filled(text: str = ROWS) -> Run:
    run = Run(worker_query(text, engine="plain"))
    for cut in some(900, keys=60):
        run.batch(cut)
    assert len(run.store.parts) > 2
    return run


def test_the_state_of_another_stream() -> None:
    run = filled()
    other = worker_query("PATTERN SEQ(A a, B b) WHERE [id] AND a.x > 0.5 WITHIN 2 hours")
    narrow = SCHEMA.remove(3)
    fewer = WorkerQuery(run.worker_query.query, narrow, run.worker_query.match_schema, 0)
    for changed, fingerprint, message in (
        (other, stream_fingerprint(other, 1), "another query"),
        (fewer, stream_fingerprint(fewer, 1), "other columns"),
        (run.worker_query, stream_fingerprint(run.worker_query, 2), "has 1 buckets, the stream has 2"),
    ):
        with pytest.raises(CepheidError, match=message) as caught:
            Bucket(changed, fingerprint).load(run.store)
        assert caught.value.code == "CEP905"
        assert "checkpoint location" in caught.value.remedy


def test_the_state_of_another_release() -> None:
    """By the format of a snapshot, which comes first, or by that of a stream's header."""
    run = filled()
    assert run.store.head is not None
    version = NONCE + len(MAGIC)
    for number in (1, 2, VERSION + 1):
        store = deepcopy(run.store)
        store.head = run.store.head[:version] + number.to_bytes(2, "little") + run.store.head[version + 2 :]
        _expect_other_format(run, store, number)
    old = Run(run.worker_query)
    old.fingerprint = replace(run.fingerprint, format=1)
    old.batch(table((1, "A", 1)))
    _expect_other_format(run, old.store, 1)


def _expect_other_format(run: Run, store: MemoryStore, number: int) -> None:
    with pytest.raises(CepheidError, match=f"state in the checkpoint has format {number}, this release") as caught:
        Bucket(run.worker_query, run.fingerprint).load(store)
    assert caught.value.code == "CEP905"
    assert "new checkpoint location" in caught.value.remedy


@pytest.mark.parametrize(("text", "chunked"), [(ROWS, False), (CHUNKS, True)])
def test_damage_is_told(text: str, chunked: bool) -> None:
    run = filled(text)
    assert run.store.head is not None
    assert bool(read_header(run.store.head)[0]["chunks"]) is chunked
    for name in run.store.parts:
        for damaged in (b"", run.store.parts[name][:-1], _flipped(run.store.parts[name])):
            store = deepcopy(run.store)
            store.parts[name] = damaged
            _expect_damage(run, store)
        store = deepcopy(run.store)
        del store.parts[name]
        _expect_damage(run, store)
    for damaged in (b"", run.store.head[:50], _flipped(run.store.head), bytes(100)):
        store = deepcopy(run.store)
        store.head = damaged
        _expect_damage(run, store)


def _flipped(blob: bytes) -> bytes:
    at = len(blob) // 2
    return blob[:at] + bytes([blob[at] ^ 0x10]) + blob[at + 1 :]


def _expect_damage(run: Run, store: MemoryStore) -> None:
    with pytest.raises(CepheidError) as caught:
        _close(Bucket(run.worker_query, run.fingerprint), store)
    assert caught.value.code == "CEP906"
    assert "new checkpoint location" in caught.value.remedy


def _close(bucket: Bucket, store: MemoryStore) -> None:
    bucket.load(store)
    bucket.close()


# Another query on the state.

FILTERED = (
    "PATTERN SEQ(A a, B b, !(C c)) WHERE [id] AND b.x > {x} AND c.x > a.x * {y} WITHIN 20 seconds RETURN {r} AS r"
)


KLEENE = "PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_next_match {{ [id] AND b[i].x > {x} }} WITHIN 20 seconds {rest}"
CHAIN = "PATTERN SEQ(A a, B b, C c) WHERE [id] AND a.x > {x} AND c.x > b.x WITHIN 20 seconds {rest}"
PROGRAM = (
    "PATTERN SEQ(A a, B b) WHERE [id] AND a.x > {x} WITHIN 5 seconds RETURN a.id AS id, b.x AS x{more} INTO P; "
    "FROM P PATTERN SEQ(P p, P q) WHERE [id] AND q.x > {y} WITHIN 30 seconds RETURN {rest}"
)


@dataclass
class Change:
    """A query that goes on in the middle of the stream of another: the rows of both, and the events of each."""

    old: list[dict[str, Any]]
    new: list[dict[str, Any]]
    before: pa.Table
    after: pa.Table


def changed(before: WorkerQuery, after: WorkerQuery, seed: int = 0, *, migrate: bool = True) -> Change:
    run, cuts = Run(before), some(200, seed)
    half = len(cuts) // 2
    for cut in cuts[:half]:
        run.batch(cut)
    old = run.rows
    run.worker_query, run.rows, run.by_shape = after, [], migrate
    run.fingerprint = stream_fingerprint(after, 1)
    for cut in cuts[half:]:
        run.batch(cut)
    return Change(old, run.end(), pa.concat_tables(cuts[:half]), pa.concat_tables(cuts[half:]))


def half(x: float) -> float:
    return x / 2


@pytest.mark.parametrize("engine", ["plain", "interpreted"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (FILTERED.format(x=0.2, y=1, r="a.id"), FILTERED.format(x=0.2, y=1, r="b.id * 1000 + a.id")),
        (FILTERED.format(x=0.2, y=1, r="a.id"), FILTERED.format(x=0.2, y=1, r="a.id").split(" RETURN")[0]),
        (FILTERED.format(x=0.2, y=1, r="a.id AS q, b.x"), FILTERED.format(x=0.2, y=1, r="half(b.x)")),
        (
            CHAIN.format(x=0.2, rest="RETURN a.x AS r"),
            CHAIN.format(x=0.2, rest="RETURN match_id AS m, round(c.x) AS n"),
        ),
        (
            KLEENE.format(x=0.2, rest="RETURN a.id AS r OUTPUT LONGEST COOLDOWN 5 seconds"),
            KLEENE.format(x=0.2, rest="RETURN avg(b[].x) AS m, b[1].x AS f OUTPUT LONGEST COOLDOWN 5 seconds"),
        ),
        (
            PROGRAM.format(x=0.1, y=0.1, more="", rest="p.id AS r"),
            PROGRAM.format(x=0.1, y=0.1, more="", rest="q.x AS y, q.match_start AS s"),
        ),
    ],
)
def test_another_return_goes_on(before: str, after: str, engine: str) -> None:
    """What was not given yet is given, each match once, as the new query has it."""
    first, second = worker_query(before, engine), worker_query(after, engine, functions={"half": half})
    with pytest.raises(CepheidError, match=r"(?s)CEP905.*pass migrate=True"):
        changed(first, second, migrate=False)
    change = changed(first, second)
    given = in_order(second.query.match(pa.concat_tables([change.before, change.after])).to_pylist())
    assert change.old
    assert change.new
    assert len(change.old) + len(change.new) == len(given)
    assert not Counter(in_order(change.new)) - Counter(given)


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (CHAIN.format(x="T", rest="RETURN a.id AS r"), 0.2, 0.6),
        (CHAIN.format(x="b.id * T", rest="RETURN a.id AS r"), 1, 0.5),
        (CHAIN.format(x=0.2, rest="HAVING a.x + c.x > T RETURN a.id AS r"), 1, 1.5),
        (CHAIN.format(x="T", rest="RETURN a.id AS r OUTPUT NON_OVERLAP"), 0.2, 0.6),
        (CHAIN.format(x=0, rest="RETURN a.id AS r").replace("[id]", "[id] AND a.id IN T"), [1, 2], [3, 4, 5]),
        (KLEENE.format(x="T", rest="RETURN count(b[]) AS n"), 0.2, 0.6),
        (PROGRAM.format(x="T", y=0.1, more="", rest="p.id AS r"), 0.1, 0.6),
        (PROGRAM.format(x=0.1, y="T", more="", rest="p.id AS r"), 0.1, 0.6),
    ],
)
def test_other_constants_judge_new_events(text: str, old: object, new: object) -> None:
    """Matches of new events are those of the new query; all others are the same for runs, stacks and objects."""
    later = 0
    for seed in range(3):
        found = {}
        for engine in ("plain", "interpreted"):
            first, second = (worker_query(text, engine, params={"T": value}) for value in (old, new))
            change = changed(first, second, seed)
            found[engine] = in_order(change.old), in_order(change.new)
            events = pa.concat_tables([change.before, change.after])
            given = second.query.match(events).to_pylist()
            last = pc.max(change.before["ts"]).as_py()
            expected = [row for row in given if row["match_start"] > last]
            assert not Counter(in_order(expected)) - Counter(in_order(change.new))
            later += len(expected)
        assert found["plain"] == found["interpreted"]
    assert later


def test_runs_keep_what_the_old_constants_let_in() -> None:
    text = "PATTERN SEQ(A a, B b) WHERE [id] AND a.x > T AND b.x > T WITHIN 20 seconds RETURN a.x AS a, b.x AS b"
    run = Run(worker_query(text, params={"T": 5}), delay=0)
    run.batch(table((1, "A", 1, 7), (2, "A", 1, 4)))
    run.batch(table((3, "C", 1)))
    run.batch()  # now both events before it are judged
    run.worker_query, run.by_shape = worker_query(text, params={"T": 3}), True
    run.fingerprint = stream_fingerprint(run.worker_query, 1)
    run.batch(table((4, "B", 1, 4), (5, "A", 1, 4), (6, "B", 1, 9)))
    assert [(row["a"], row["b"]) for row in run.end()] == [(7, 4), (7, 9), (4, 9)]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (FILTERED.format(x=0.2, y=1, r="a.id"), ("20 seconds", "21 seconds"), "WITHIN changed"),
        (FILTERED.format(x=0.2, y=1, r="a.id"), ("SEQ(A a", "SEQ(C a"), "PATTERN changed"),
        (FILTERED.format(x=0.2, y=1, r="a.id"), ("b.x >", "b.x >="), "WHERE changed"),
        (FILTERED.format(x=0.2, y=1, r="a.id"), ("b.x > 0.2", "half(b.x) > 0.2"), "WHERE changed"),
        (CHAIN.format(x=0.2, rest=""), ("WITHIN", "PARTITION BY x WITHIN"), "PARTITION BY changed"),
        (CHAIN.format(x=0.2, rest="OUTPUT ALL"), ("ALL", "NON_OVERLAP"), "OUTPUT changed"),
        (
            CHAIN.format(x=0.2, rest="OUTPUT LONGEST COOLDOWN 5 seconds"),
            ("COOLDOWN 5", "COOLDOWN 9"),
            "COOLDOWN changed",
        ),
        (CHAIN.format(x=0.2, rest=""), ("20 seconds", "20 seconds HAVING a.x > 0"), "HAVING changed"),
        (
            PROGRAM.format(x=0, y=0, more="", rest="p.id AS r"),
            ("b.x AS x", "b.x + 1 AS x"),
            "RETURN of query 1 changed",
        ),
    ],
)
def test_what_cannot_change(before: str, after: tuple[str, str], told: str) -> None:
    first, second = (worker_query(text, "plain", functions={"half": half}) for text in (before, before.replace(*after)))
    with pytest.raises(CepheidError, match=f"CEP905.*does not fit the new query: {told}"):
        changed(first, second)
    with pytest.raises(CepheidError, match=r"CEP905.*another query.*\nhelp: start the stream with a new"):
        changed(first, second, migrate=False)


def test_a_column_that_the_state_does_not_have() -> None:
    text = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 20 seconds RETURN {} AS r"
    first = worker_query(text.format("a.id"), "plain", schema=pa.schema(list(SCHEMA)[:3]))
    run = Run(first)
    run.batch(table((1, "A", 1)).select(first.event_schema.names))
    run.worker_query, run.by_shape = worker_query(text.format("a.x"), "plain"), True
    run.fingerprint = stream_fingerprint(run.worker_query, 1)
    with pytest.raises(CepheidError, match=r"CEP905: the new query reads other columns of the events than the state"):
        run.batch(table((2, "A", 1)))


def test_a_changed_function_of_the_same_name() -> None:
    """It judges new events; runs keep what the old one let in."""
    text = "PATTERN SEQ(A a, B b) WHERE [id] AND keep(a.x) WITHIN 20 seconds RETURN a.x AS x"
    run = Run(worker_query(text, functions={"keep": lambda x: x > 5}), delay=0)
    run.batch(table((1, "A", 1, 7), (2, "A", 1, 4)))
    run.batch(table((3, "C", 1)))
    run.batch()  # now both events before it are judged
    run.worker_query = worker_query(text, functions={"keep": lambda x: x < 5})
    run.batch(table((4, "A", 1, 8), (5, "A", 1, 2), (6, "B", 1)))
    assert sorted(row["x"] for row in run.end()) == [2, 7]


@pytest.mark.parametrize("seed", range(5))
def test_a_timer_is_after_the_watermark(seed: int) -> None:
    """Spark may call at a timer, and deletes it then: one that is due at once would be gone with nothing done."""
    run = Run(worker_query("PATTERN SEQ(A a, B b, !(C c)) WHERE [id] WITHIN 4 seconds", engine="plain"))
    timers = 0
    for events in some(200, seed):
        watermark = run.watermark
        run.batch(events)
        if run.bucket().timer is not None:
            timers += 1
            assert run.bucket().timer > watermark
    assert timers
