"""A scan looks for the events of a block that are of the types of its query, before it meets runs."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cepheid import Query
from cepheid.kernel.scan.variables import BLOCK

QUERIES = {
    "sequence": "PATTERN SEQ(A a, B b, C c) WHERE [id] WITHIN 300 milliseconds",
    "negation": "PATTERN SEQ(A a, !(B b), C c) WHERE [id] WITHIN 300 milliseconds",
    "single": "PATTERN SEQ(A a, B b) WITHIN 20 milliseconds",
}


def stream(count: int, share: float, *, nulls: bool) -> pa.Table:
    """Events of which a share is of the types A, B or C, at first; then nearly all, then a share again."""
    chance = np.random.default_rng(int(share * 100) + count)
    kinds = np.where(chance.random(count) < share, chance.choice(list("ABC"), count), "Z")
    kinds[count // 3 : count // 2] = chance.choice(list("ABC"), count // 2 - count // 3)
    ids: list[Any] = chance.integers(0, 40, count).tolist()
    if nulls:
        ids[::7] = [None] * len(ids[::7])
    return pa.table({"ts": range(count), "type": kinds.tolist(), "id": pa.array(ids, pa.int64())})


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("share", [0.1, 0.6, 1.0])
@pytest.mark.parametrize("name", QUERIES)
def test_all_events_that_are_asked_for_are_met(name: str, share: float, nulls: bool) -> None:
    table = stream(10 * BLOCK + 200, share, nulls=nulls)
    query = Query(QUERIES[name])
    wanted = query.match(table, engine="interpreted").to_arrow()
    assert wanted.num_rows
    for engine in ("plain", "compiled"):
        assert query.match(table, engine=engine, plan="automaton").to_arrow().equals(wanted), engine


@pytest.mark.parametrize("size", [1, BLOCK - 50, BLOCK + 3])
def test_blocks_may_end_anywhere(size: int) -> None:
    table = stream(4 * BLOCK, 0.9, nulls=False)
    query = Query(QUERIES["sequence"])
    session = query.session(engine="compiled", plan="automaton", lateness=0)
    found = [len(session.push(table.slice(at, size))) for at in range(0, len(table), size)]
    assert sum(found) + len(session.close()) == len(query.match(table, engine="interpreted"))
