"""What a scan holds of a CESAR expression: no more instances than can go on, and no keys that its partition has."""

from __future__ import annotations

import pyarrow as pa
import pytest

from cepheid import Query

BOUNDED = "CESAR LET S1, S2 := E\nSELECT[S1.a = 1](S1) ;[DUR <= 5 AND S2.a = 2] S2"
KEYED = "CESAR LET S1, S2 := E\nITERATE[SELECT[S2.a > S2.a.last], S1.k = S2.k](S1, S2)"


def events(values: list[int], key: list[str | None] | None = None, times: list[int] | None = None) -> pa.Table:
    columns = {"ts": times or list(range(len(values))), "type": ["E"] * len(values), "a": values}
    return pa.table({**columns, "k": pa.array(key or ["x"] * len(values), pa.string())})


@pytest.mark.parametrize("engine", ["plain", "compiled"])
def test_that_instances_go_that_no_event_meets_before_they_have_lasted_too_long(engine: str) -> None:
    session = Query(BOUNDED).session(engine=engine, lateness=0)
    session.push(events([1] * 500))
    assert session.stats.runs < 40
    assert session.push(events([2], times=[500])).to_pylist() == []
    session.close()


@pytest.mark.parametrize("engine", ["plain", "compiled"])
def test_that_an_event_that_nothing_asks_for_ends_no_wait(engine: str) -> None:
    table = events([1, 3, 3, 2, 1, 3, 3, 3, 3, 3, 2])
    found = Query(BOUNDED).match(table, engine=engine).to_pylist()
    assert [(match["match_start"], match["match_end"]) for match in found] == [(0, 3)]
    assert found == Query(BOUNDED).match(table, engine="reference").to_pylist()


@pytest.mark.parametrize("engine", ["plain", "compiled"])
@pytest.mark.parametrize("times", [None, [0, 0, 1, 1, 1, 2, 3, 3]])
def test_that_results_have_the_key_of_their_partition(engine: str, times: list[int] | None) -> None:
    table = events([1, 1, 2, 2, 3, 4, 5, 2], ["x", "y", "x", None, "y", "x", "y", "y"], times)
    found = Query(KEYED).match(table, engine=engine).to_pylist()
    assert found == Query(KEYED).match(table, engine="reference").to_pylist()
    assert {(match["S1_k"], match["S2_k"]) for match in found} == {("x", "x"), ("y", "y")}
