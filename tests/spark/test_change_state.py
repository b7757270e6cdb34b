"""A bucket that speculates, in a store without Spark: after each micro-batch it has given what the definition gives."""

import os
from copy import deepcopy
from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from change_streams import OP, Ledger, Oracle, counted, cut, with_operations
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st
from test_state import BEGIN, SCHEMA, MemoryStore, some, table

import cepheid as cep
from cepheid.engine.stream.operations import split_operations
from cepheid.errors import CepheidError
from cepheid.spark.codes import with_codes
from cepheid.spark.outputs import match_schema, output_number
from cepheid.spark.packing import PackedEvents, write
from cepheid.spark.signs import with_signs
from cepheid.spark.state.bucket import BucketOutput
from cepheid.spark.state.cache import BucketCache
from cepheid.spark.state.change_bucket import open_bucket
from cepheid.spark.state.fingerprint import stream_fingerprint
from cepheid.spark.worker import WorkerQuery
from cepheid.testing.spark import to_spark_types
from cepheid.testing.strategies import PLAIN, GeneratedQuery, merges, programs, scenarios, streams

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
AHEAD = ("all", "all", "3 ms", "8 ms", "0 ms", None)
PROGRAMS = st.tuples(programs(PLAIN) | merges(PLAIN), streams(PLAIN, max_size=7))
ANYTHING = scenarios() | scenarios(schema=PLAIN) | scenarios(schema=PLAIN) | PROGRAMS
LATER = 10**9  # milliseconds: Spark takes no watermark before 1970 for one


def worker_query(
    query: cep.Query, schema: pa.Schema, *, speculate: str | None = "all", op: str | None = OP, engine: str = "auto"
) -> WorkerQuery:
    changes = speculate is not None
    return with_codes(
        WorkerQuery(
            query,
            schema,
            match_schema(query, schema, changes=changes),
            output_number(query, None),
            engine,
            op=op,
            speculate=speculate,
        )
    )


class Run:
    """A bucket as Spark calls it. reads: it is read from the store in every micro-batch."""

    def __init__(self, worker_query: WorkerQuery, *, reads: bool = True, chained: bool = False) -> None:
        self.worker_query = worker_query
        self.fingerprint = stream_fingerprint(worker_query, 1)
        self.store = MemoryStore()
        self.cache = BucketCache(0 if reads else 1000)
        self.chained = chained
        self.late = 0

    def take(self, rows: pa.Table | None, watermark: int | None, late: str = "drop", store: Any = None) -> BucketOutput:
        store = store or self.store
        bucket = self.cache.take(self.worker_query, self.fingerprint, 0, store)
        arrived = []
        if rows is not None and rows.num_rows:
            events, signs = split_operations(rows, OP) if OP in rows.column_names else (rows, None)
            times = events["ts"].cast(pa.int64()).to_pylist()
            blob = write(with_signs(self.worker_query.conform(events), signs))
            arrived = [PackedEvents(blob, min(times), max(times), len(times))]
        output = bucket.take(arrived, watermark, late, chained=self.chained)
        bucket.timer = bucket.due()
        bucket.save(store)
        self.cache.put(bucket, 0, 1)
        self.late += output.late
        return output

    def step(self, rows: pa.Table | None, watermark: int | None, **how: Any) -> list[dict[str, Any]]:
        return self.of(self.take(rows, watermark, **how).matches)

    def of(self, found: Any) -> list[dict[str, Any]]:
        return [] if found is None else [row for part in self.worker_query.tables(found) for row in part.to_pylist()]

    def bucket(self) -> Any:
        found = open_bucket(self.worker_query, self.fingerprint)
        found.load(self.store)
        return found


def watermarks(times: list[int], count: int, chance: Random) -> list[int | None]:
    """In milliseconds, one for each micro-batch; at first there is none."""
    low, high = min(times, default=0), max(times, default=0)
    found = sorted(chance.randint(low - 2, high + 4) for _ in range(count))
    none = chance.choice([0, 1, 1, count])
    return [None if k < none else at for k, at in enumerate(found)]


def later(events: pa.Table) -> pa.Table:
    """The same events, some time after 1970."""
    times = pa.array([t + 1000 * LATER for t in events["ts"].cast(pa.int64()).to_pylist()], pa.int64())
    kind = events.schema.field("ts").type
    return events.set_column(events.column_names.index("ts"), "ts", times.cast(kind))


@settings(
    max_examples=2000 if LONG else 60,
    deadline=None,
    derandomize=not LONG,
    database=None,
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
)
@given(
    scenario=ANYTHING,
    speculate=st.sampled_from(AHEAD),
    op=st.sampled_from([OP, OP, None]),
    count=st.integers(1, 5),
    reads=st.booleans(),
    seed=st.integers(0, 2**30),
)
def test_what_stands_after_every_micro_batch(
    scenario: tuple[GeneratedQuery, pa.Table], speculate: str | None, op: str | None, count: int, reads: bool, seed: int
) -> None:
    query, events = scenario[0].make(), later(to_spark_types(scenario[1], {}))
    chance = Random(seed)
    if speculate is None and op is None:
        op = OP
    parts = cut(events, chance, count, retracted=0.3 if op is not None else 0)
    if op is None:
        parts = [part.drop_columns([OP]) for part in parts]
    marks = watermarks([t // 1000 for t in events["ts"].cast(pa.int64()).to_pylist()], count, chance)
    try:
        oracle = Oracle(query, parts[0].schema, speculate=speculate, op=op)
        wanted = [deepcopy(oracle.step(part, moment(mark))) for part, mark in zip(parts, marks, strict=True)]
        late = oracle.session.stats.late
        wanted.append(oracle.close())
        run = Run(worker_query(query, events.schema, speculate=speculate, op=op), reads=reads)
    except CepheidError:  # of the query on its events
        reject()
    ledger, changing = Ledger(), speculate is not None
    try:
        for part, mark, stands in zip(parts, marks, wanted[:-1], strict=True):
            check(ledger, run.step(part, mark), stands, changing=changing)
    except CepheidError as error:
        assume(error.code != "CEP410")  # integers that only the definition computes with
        raise
    assert run.late == late
    check(ledger, run.of(run.bucket().close()), wanted[-1], changing=changing)


def moment(mark: int | None) -> Any:
    """A watermark as a session takes it."""
    return None if mark is None else pa.scalar(1000 * mark, pa.int64()).cast(SCHEMA.field("ts").type).as_py()


def check(ledger: Ledger, rows: list[dict[str, Any]], wanted: Any, *, changing: bool) -> None:
    if changing:
        ledger.add(rows)
    else:
        ledger.stands.update(counted(rows))
    assert ledger.stands == wanted


# One by one.

PAIR = "PATTERN SEQ(A a, !(C c), B b) WHERE [id] WITHIN 10 seconds"
ABSENT = "PATTERN SEQ(A a, B b, !(C c)) WHERE [id] WITHIN 20 seconds"
QUERIES = {
    "negation": PAIR,
    "absence at the end": ABSENT,
    "closure": "PATTERN SEQ(A a, B+ b[], C c) WHERE [id] AND b[i].x > b[i-1].x WITHIN 30 seconds",
    "contiguity": "PATTERN SEQ(A a, B b) WHERE partition_contiguity(a, b) { [id] } RETURN a.x AS x",
    "non overlap": "PATTERN SEQ(A a, B b, !(C c)) WHERE [id] AND b.x > a.x WITHIN 8 seconds OUTPUT NON_OVERLAP",
    "longest": "PATTERN SEQ(A a, B+ b[]) WHERE skip_till_next_match { [id] AND b[i].x >= b[i-1].x } WITHIN 9 seconds "
    "OUTPUT LONGEST COOLDOWN 15 seconds",
    "events": "PATTERN SEQ(A a, B b) WITHIN 5 events",
    "program": "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 3 seconds RETURN a.id AS id INTO P;"
    "FROM P PATTERN SEQ(P p, !(P q)) WITHIN 9 seconds",
}


def with_plus(events: pa.Table) -> pa.Table:
    return with_operations(events, ["+"] * events.num_rows)


def second(number: float) -> int:
    """A watermark."""
    return BEGIN + int(1000 * number)


def of(text: str, **how: Any) -> WorkerQuery:
    return worker_query(cep.Query(text), SCHEMA, engine="plain", **how)


@pytest.mark.parametrize("speculate", ["all", "4 seconds", None])
@pytest.mark.parametrize("name", QUERIES)
def test_long_streams(name: str, speculate: str | None) -> None:
    """Many micro-batches; every third one is tried by a task that fails, and every fifth is read from the store."""
    chance, cuts = Random(name), some(120, 3)
    run = Run(of(QUERIES[name], speculate=speculate), reads=False)
    oracle = Oracle(cep.Query(QUERIES[name]), with_plus(cuts[0]).schema, engine="auto", speculate=speculate, op=OP)
    ledger, mark, latest = Ledger(), None, 0
    for number, events in enumerate(cuts):
        rows = with_plus(events)
        if number and chance.random() < 0.7:
            gone = cuts[number - 1].slice(0, 1 + chance.randrange(3))
            rows = pa.concat_tables([rows, with_operations(gone, ["-"] * gone.num_rows)])
        if number % 3 == 1:
            run.take(rows, mark, store=deepcopy(run.store))
        if number % 5 == 4:
            run.cache.buckets.clear()
        wanted = oracle.step(rows, moment(mark))
        check(ledger, run.step(rows, mark), wanted, changing=speculate is not None)
        latest = max(latest, *(t // 1000 for t in events["ts"].cast(pa.int64()).to_pylist()))
        mark = latest - 5000
    wanted = oracle.close()
    check(ledger, run.of(run.bucket().close()), wanted, changing=speculate is not None)
    assert ledger.stands


def test_a_late_event_takes_a_match_back_and_a_retraction_gives_it_again() -> None:
    run = Run(of(PAIR))
    (given,) = run.step(with_plus(table((1, "A", 1), (5, "B", 1))), None)
    assert (given["op"], given["a"]["id"]) == ("+", 1)
    (taken,) = run.step(with_plus(table((3, "C", 1))), second(0))
    assert taken == {**given, "op": "-"}
    (again,) = run.step(with_operations(table((3, "C", 1)), ["-D"]), second(0))
    assert again == given
    assert run.step(None, second(60)) == []


def test_a_micro_batch_that_is_repeated_gives_the_same() -> None:
    run = Run(of(QUERIES["closure"]), reads=False)
    for number, cut_ in enumerate(some(200, 5)):
        before = deepcopy(run.store)
        mark = second(number - 5)
        first = run.step(with_plus(cut_), mark)
        run.store = before
        run.cache.buckets.clear()
        assert run.step(with_plus(cut_), mark) == first


def test_equal_matches_have_identifiers_of_their_own() -> None:
    run = Run(of("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 10 seconds RETURN a.x AS x"))
    rows = run.step(with_plus(table((1, "A", 1), (2, "B", 1), (2, "B", 1))), None)
    assert len({row["match_id"] for row in rows}) == 2
    (gone,) = run.step(with_operations(table((2, "B", 1)), ["-"]), None)
    assert gone["match_id"] in {row["match_id"] for row in rows}
    # In another bucket there may be an equal one of another key.
    found = run.take(with_plus(table((3, "A", 2), (4, "B", 2))), None).matches
    one, other, without = (
        next(run.worker_query.tables(found, bucket=number))["match_id"][0].as_py() for number in (-5, 7, None)
    )
    assert len({one, other, without}) == 3
    assert one.startswith(without)


@pytest.mark.parametrize("text", [PAIR, ABSENT])
def test_when_a_bucket_wants_to_be_called(text: str) -> None:
    """With all speculation there is nothing to wait for but its end; else it is called so much earlier."""
    events = with_plus(table((3, "A", 1), (5, "B", 1)))
    over = 5 + (10 if text == PAIR else 20)
    run = Run(of(text))
    run.step(events, None)
    assert run.bucket().timer == second(over) - 1
    run.step(None, second(over))
    assert run.store.parts == {}
    assert run.bucket().session is None
    assert run.bucket().timer is None

    run = Run(of(text, speculate="2 seconds"))
    run.step(events, None)
    assert run.bucket().timer == second(1)  # the first event that waits is given at 3
    assert run.step(None, second(1) + 1) == []
    assert run.bucket().timer == second(3)
    given = run.step(None, second(3) + 1)
    assert len(given) == (text == PAIR)
    if text == ABSENT:
        assert run.bucket().timer == second(21) - 1  # the end of the window, at 23
        assert run.step(None, second(21) - 1) == []
        assert [row["op"] for row in run.step(None, second(21))] == ["+"]
    assert run.bucket().timer == second(over) - 1
    run.step(None, second(over))
    assert run.bucket().session is None


def test_a_bucket_of_which_all_was_retracted() -> None:
    run = Run(of("PATTERN SEQ(A a, B b) WHERE partition_contiguity(a, b) { [id] }"))  # without a window
    events = table((3, "A", 1), (5, "B", 1))
    assert len(run.step(with_plus(events), second(0))) == 1
    assert [row["op"] for row in run.step(with_operations(events, ["-"] * 2), second(1))] == ["-"]
    assert run.bucket().session is None


@pytest.mark.parametrize("speculate", ["all", "1 second", None])
def test_retractions_of_nothing(speculate: str | None) -> None:
    """They wait for their events. When the watermark has passed them, they are late."""
    run = Run(of(PAIR, speculate=speculate))
    debt = with_operations(table((3, "A", 1)), ["-"])
    run.step(debt, second(0))
    assert run.bucket().timer == second(3)
    kept = deepcopy(run.store)
    run.step(with_plus(table((3, "A", 1), (4, "B", 1))), second(1))
    assert run.step(None, second(100)) == []
    assert run.late == 0
    run.store = deepcopy(kept)
    run.step(None, second(3) + 1)
    assert run.late == 1
    run.store = kept
    with pytest.raises(CepheidError, match="retraction") as caught:
        run.step(None, second(3) + 1, late="error")
    assert caught.value.code == "CEP408"
    assert "withWatermark" in caught.value.remedy
    assert run.of(run.bucket().close()) == []


def test_late_rows() -> None:
    run = Run(of(PAIR))
    run.step(with_plus(table((3, "A", 1), (9, "B", 1))), None)
    late = with_operations(table((3, "A", 1), (6, "A", 1)), ["-", "+"])
    assert [row["op"] for row in run.step(late, second(5))] == ["+"]
    assert run.late == 1
    with pytest.raises(CepheidError, match="1 of 2") as caught:
        run.step(late, second(5), late="error")
    assert caught.value.code == "CEP408"


def test_events_of_another_operator_are_as_late_as_its_watermark() -> None:
    """It gives them when the watermark has passed them."""
    run = Run(of(PAIR), chained=True)
    run.step(with_plus(table((1, "A", 1))), second(1))
    assert len(run.step(with_plus(table((2, "B", 1))), second(4))) == 1
    run.step(with_plus(table((3, "B", 1))), second(5))
    assert run.late == 1


def test_another_speculation_or_operation_is_refused() -> None:
    run = Run(of(PAIR))
    run.step(with_plus(table((1, "A", 1))), None)
    for options, told in (
        ({"speculate": "1 minute"}, "speculate='all', and this one has speculate='1 minute'"),
        ({"speculate": None}, "speculate='all'.*speculate=None"),
        ({"op": "kind"}, "op='op'.*op='kind'"),
        ({"op": None}, "op='op'.*op=None"),
    ):
        other = Run(of(PAIR, **options))
        other.store = run.store
        with pytest.raises(CepheidError, match=told) as caught:
            other.step(None, second(1))
        assert caught.value.code == "CEP905"


@pytest.mark.parametrize("text", [PAIR, ABSENT], ids=["by partitions", "by states"])
@pytest.mark.parametrize("reads", [True, False], ids=["read", "cached"])
def test_the_state_is_not_much_larger_than_without(text: str, reads: bool) -> None:
    """Also if each micro-batch runs in another worker; and rows that stay are not written again."""
    sizes: dict[str | None, list[int]] = {}
    for speculate in ("all", "0 nanoseconds", None):
        run = Run(replace(of(text, speculate=speculate, op=None)), reads=reads)
        sizes[speculate], written = [], []
        for number in range(18):
            rows = [(number * 20 + k / 50, "ABC"[k % 3], k % 301, k % 7 / 7) for k in range(1000)]
            before = run.store.written
            run.step(table(*rows), second(number * 20 - 5))
            written.append(run.store.written - before)
            sizes[speculate].append(run.store.size)
        assert sum(written[9:]) < 1.5 * sum(sizes[speculate][9:])
    plain = sum(sizes[None][9:])
    assert sum(sizes["all"][9:]) < 1.5 * plain
    assert sum(sizes["0 nanoseconds"][9:]) < 1.5 * plain
    assert max(sizes["all"][14:]) < 1.2 * max(sizes["all"][9:14])
