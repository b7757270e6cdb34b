"""Many tied events: only those of one partition are put in the order of their content, and the matches afterwards."""

import numpy as np
import pyarrow as pa
import pytest

from cepheid import Query
from cepheid.engine.stream import arrivals
from cepheid.engine.stream.arrivals import Arrivals

QUERIES = [
    "PATTERN SEQ(A a, B b, C c) WHERE [id] WITHIN 3 milliseconds",
    "PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match { [id] } WITHIN 3 milliseconds",
    "PATTERN SEQ(A a, B+ b[]) WHERE skip_till_next_match { [id] AND b[i].x >= a.x } WITHIN 2 milliseconds",
    "PATTERN SEQ(A a, !(B b), C c) WHERE [id] WITHIN 3 milliseconds",
    "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 4 events",
    "PATTERN SEQ(A a, B b) WHERE strict_contiguity { a.x < b.x } PARTITION BY id WITHIN 3 milliseconds",
    "PATTERN SEQ(A a, B b) WHERE [id] AND [x] WITHIN 3 milliseconds RETURN a.x AS x, b.y AS y",
]


def tied(seed: int, count: int = 300) -> pa.Table:
    """Events of which several share the time, some also the partition, and some all of their columns."""
    chance = np.random.default_rng(seed)
    ids = [None if k == 9 else int(k) for k in chance.integers(0, 10, count)]
    return pa.table(
        {
            "ts": np.sort(chance.integers(0, count // 8, count)),
            "y": chance.integers(0, 3, count),
            "type": pa.array(chance.choice(list("ABCZ"), count)).dictionary_encode()
            if seed % 2
            else pa.array(chance.choice(list("ABCZ"), count)),
            "id": pa.array(ids, pa.int64()),
            "x": pa.array([float(x) for x in chance.integers(0, 4, count)]),
            "s": pa.array([None if k == 0 else f"s{k}" for k in chance.integers(0, 3, count)]),
        }
    )


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrivals, "MANY", 2)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("text", QUERIES)
def test_matches_are_those_of_the_total_order(text: str, seed: int) -> None:
    query, events = Query(text), tied(seed)
    wanted = query.match(events, engine="reference")
    assert len(wanted)
    for how in ({}, {"plan": "automaton"}, {"engine": "compiled"}, {"engine": "interpreted"}):
        found = query.match(events, **how)
        assert len(found) == found.count() == len(wanted)
        assert found.head(3).to_arrow().equals(wanted.head(3).to_arrow())
        assert found.to_arrow().equals(wanted.to_arrow())
        assert found.to_long().equals(wanted.to_long())
        assert pa.concat_tables(found.to_batches(5)).equals(wanted.to_arrow())
        assert list(found) == list(wanted)
        assert found[-1] == wanted[-1]


def test_an_order_may_be_given() -> None:
    events = tied(1)
    query = Query(QUERIES[1], order_by="s")
    assert query.match(events).to_arrow().equals(query.match(events, engine="reference").to_arrow())


def test_only_ties_of_one_partition_are_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    released = []
    release = Arrivals.release

    def kept(self: Arrivals, before: int | None) -> object:
        released.append(release(self, before))
        return released[-1]

    monkeypatch.setattr(Arrivals, "release", kept)
    events = pa.table({"ts": [1, 1, 1, 1], "type": ["B", "A", "B", "A"], "id": [1, 0, 0, 2]})
    assert len(Query(QUERIES[4]).match(events)) == 1
    (found,) = released
    assert found[0].table.column("id").to_pylist() == [1, 0, 0, 2]


@pytest.mark.parametrize(
    "text",
    [
        f"{QUERIES[0]} OUTPUT NON_OVERLAP",
        f"{QUERIES[0]} TIES SIMULTANEOUS",
        "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 3 milliseconds",
        "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 3 milliseconds RETURN a.x AS x INTO P; "
        "FROM P PATTERN SEQ(P p, P q) WITHIN 3 milliseconds",
        "FROM events WHERE x > 1 PATTERN SEQ(A a, B b) WHERE [id] WITHIN 3 milliseconds",
    ],
)
def test_what_sees_several_partitions_sees_them_in_order(text: str) -> None:
    query, events = Query(text), tied(2)
    assert query.match(events).to_arrow().equals(query.match(events, engine="reference").to_arrow())
