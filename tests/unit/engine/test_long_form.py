"""The long form of matches, and what identifies a match."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

import cepheid as cep

QUERY = cep.Query("PATTERN SEQ(A a, B+ b[], C? c) WHERE skip_till_next_match { } RETURN match_id, a.x AS x")
EVENTS = pa.table({"ts": [1, 2, 3], "type": ["A", "B", "B"], "x": [1.5, None, 2.0]})


def test_a_row_for_each_event() -> None:
    found = QUERY.match(EVENTS)
    long = found.to_long()
    first, second = (match["match_id"] for match in found)
    assert long.schema.names == ["match_id", "variable", "index", "ts", "type", "x"]
    assert long["match_id"].to_pylist() == [first] * 2 + [second] * 3
    assert long["variable"].to_pylist() == ["a", "b", "a", "b", "b"]
    assert long["index"].to_pylist() == [1, 1, 1, 1, 2]
    assert long["ts"].to_pylist() == [1, 2, 1, 2, 3]


def test_no_matches() -> None:
    assert QUERY.match(EVENTS.slice(1)).to_long().num_rows == 0
    assert QUERY.match(EVENTS.slice(1)).to_long().schema.names == QUERY.match(EVENTS).to_long().schema.names


def test_a_session_gives_the_same_rows() -> None:
    session = QUERY.session(lateness=0)
    parts = [session.push(EVENTS.slice(k, 1)).to_long() for k in range(3)]
    assert pa.concat_tables([*parts, session.close().to_long()]).equals(QUERY.match(EVENTS).to_long())


def test_an_identifier_depends_on_the_events_alone() -> None:
    """Neither on the order of columns and rows, nor on types that hold the same values, nor on other events."""
    query = cep.Query("PATTERN SEQ(A a, B b) RETURN match_id")
    (wanted,) = (match["match_id"] for match in query.match(EVENTS.slice(0, 2)))
    begin = datetime(1970, 1, 1, tzinfo=UTC)
    forms = [
        EVENTS.slice(0, 2).select(["x", "type", "ts"]).take([1, 0]),
        EVENTS.slice(0, 2).cast(pa.schema([("ts", pa.int32()), ("type", pa.large_string()), ("x", pa.float32())])),
    ]
    for form in forms:
        assert [match["match_id"] for match in query.match(form)] == [wanted]
    assert query.match(EVENTS)[0]["match_id"] == wanted
    times = [begin + timedelta(seconds=1), begin + timedelta(seconds=2)]
    ids = {
        query.match(pa.table({"ts": pa.array(times, pa.timestamp(unit, zone)), "type": ["A", "B"]}))[0]["match_id"]
        for unit in ("s", "ms", "us", "ns")
        for zone in ("UTC", "Europe/Paris")
    }
    assert len(ids) == 1


def test_equal_rows_have_one_identifier() -> None:
    twice = pa.concat_tables([EVENTS.slice(0, 2), EVENTS.slice(1, 1)])
    found = cep.Query("PATTERN SEQ(A a, B b) RETURN match_id").match(twice)
    assert len({match["match_id"] for match in found}) == 1
    assert len(found) == 2


def test_a_column_of_the_long_form_is_taken() -> None:
    events = EVENTS.append_column("index", [[1, 2, 3]])
    with pytest.raises(cep.InputError, match="the events have a column 'index'"):
        QUERY.match(events).to_long()
