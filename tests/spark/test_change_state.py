"""A bucket that speculates, in a store without Spark: each micro-batch has given what the definition gives."""

import os
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from change_streams import OP, Ledger, Oracle, counted, cut
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from test_state import MemoryStore

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
    max_examples=1500 if LONG else 100,
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
        run = Run(worker_query(query, events.schema, speculate=speculate, op=op), reads=reads)
        oracle = Oracle(query, parts[0].schema, speculate=speculate, op=op)
        ledger = Ledger()
        for part, mark in zip(parts, marks, strict=True):
            moment = (
                None
                if mark is None
                else pa.scalar(1000 * mark, pa.int64()).cast(events.schema.field("ts").type).as_py()
            )
            wanted = oracle.step(part, moment)
            check(ledger, run.step(part, mark), wanted, changing=speculate is not None)
        assert run.late == oracle.session.stats.late
        wanted = oracle.close()
        check(ledger, run.of(run.bucket().close()), wanted, changing=speculate is not None)
    except CepheidError as error:
        assume(
            error.code not in ("CEP908", "CEP501", "CEP503", "CEP502", "CEP505")
            and error.code[:4] not in ("CEP3", "CEP2", "CEP4")
        )
        raise


def check(ledger: Ledger, rows: list[dict[str, Any]], wanted: Any, *, changing: bool) -> None:
    if changing:
        ledger.add(rows)
    else:
        ledger.stands.update(counted(rows))
    assert ledger.stands == wanted
