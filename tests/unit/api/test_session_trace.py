"""`session.trace()`: of the last events that were pushed."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import UsageError

QUERY = cep.Query("PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) { [id] }")
ROWS = [{"ts": k, "type": "AB"[k % 2], "id": 1 + k // 4} for k in range(8)]

WAYS: list[dict[str, Any]] = [{}, {"speculate": "all"}, {"lateness": 2}, {"speculate": 0, "lateness": 2}]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("batch", [1, 3, 8])
@pytest.mark.parametrize("kept", [1, 4, 7, 8, 20])
def test_is_the_trace_of_the_last_events(way: dict[str, Any], batch: int, kept: int) -> None:
    session = QUERY.session(trace=kept, **way)
    for start in range(0, len(ROWS), batch):
        session.push(pa.Table.from_pylist(ROWS[start : start + batch]))
    found = session.trace()
    assert found.to_arrow().equals(QUERY.trace(ROWS[-kept:]).to_arrow())
    assert found.before == max(0, len(ROWS) - kept)
    session.close()
    assert session.trace() == found


def test_the_text_says_that_runs_may_have_begun_before() -> None:
    session = QUERY.session(trace=2)
    session.push(ROWS)
    assert str(session.trace()).splitlines()[-1] == "… runs that began with one of 6 events before these are not here"
    whole = QUERY.session(trace=8)
    whole.push(ROWS)
    assert str(whole.trace()) == str(QUERY.trace(ROWS))


def test_late_events_are_not_in_it() -> None:
    session = QUERY.session(lateness=0, late="drop", trace=10)
    session.push([ROWS[0], ROWS[2]])
    session.push([ROWS[1], ROWS[3]])
    assert session.trace().to_arrow().equals(QUERY.trace([ROWS[0], *ROWS[2:4]]).to_arrow())


def test_events_that_were_taken_back_are_not_in_it() -> None:
    session = QUERY.session(speculate="all", trace=10)
    session.push(ROWS[:4])
    session.retract([ROWS[1]])
    session.revise([ROWS[3]], [ROWS[3] | {"ts": 9}])
    assert session.trace().to_arrow().equals(QUERY.trace([ROWS[0], ROWS[2], ROWS[3] | {"ts": 9}]).to_arrow())


def test_columns_that_get_their_type_late() -> None:
    session = cep.Query("PATTERN SEQ(A a, B b)").session(trace=10)
    session.push([{"ts": 1, "type": "A", "x": None}])
    session.push([{"ts": 2, "type": "B", "x": "y"}])
    assert session.trace().to_arrow()["action"].to_pylist() == ["begin", "ignore", "proceed", "emit", "kill"]


@pytest.mark.parametrize("way", WAYS)
def test_a_session_goes_on_from_a_snapshot(way: dict[str, Any]) -> None:
    session = QUERY.session(trace=5, **way)
    session.push(ROWS[:4])
    blob = session.snapshot()
    again = QUERY.restore(blob, trace=5)
    assert (len(again.trace()), again.trace().before) == (0, 4)
    again.push(ROWS[4:])
    assert again.trace().to_arrow().equals(QUERY.trace(ROWS[4:]).to_arrow())
    assert again.trace().before == 4
    with pytest.raises(UsageError, match="the session keeps no events to trace"):
        QUERY.restore(blob).trace()


def test_limit() -> None:
    session = QUERY.session(trace=8)
    session.push(ROWS)
    assert str(session.trace(limit=3)) == str(QUERY.trace(ROWS, limit=3))
    with pytest.raises(UsageError, match="limit can't be -1"):
        session.trace(limit=-1)


def test_before_the_first_event() -> None:
    assert len(QUERY.session(trace=5).trace()) == 0


def test_without_trace_nothing_is_kept() -> None:
    session = QUERY.session()
    session.push(ROWS)
    with pytest.raises(UsageError) as told:
        session.trace()
    assert str(told.value) == (
        "error CEP606: the session keeps no events to trace\nhelp: open it with q.session(trace=1000)"
    )


@pytest.mark.parametrize("trace", [0, -1, True, "all", 1.5])
def test_a_wrong_number(trace: Any) -> None:
    with pytest.raises(UsageError, match="trace can't be"):
        QUERY.session(trace=trace)


def test_a_large_batch_is_let_go() -> None:
    batch = pa.Table.from_pylist(ROWS * 10_000)
    session = cep.Query("PATTERN SEQ(C c, D d) WITHIN 5 events").session(trace=2)
    session.push(batch)
    assert session._recent is not None
    table, before = session._recent.events(session.engine.roles)
    assert (table.num_rows, before) == (2, 79_998)
    assert table.get_total_buffer_size() < 1_000
