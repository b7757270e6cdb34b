"""Snapshots of sessions."""

from collections.abc import Mapping
from typing import Any

import pytest

from cepheid import Matches, Query, UsageError

PAIR = "PATTERN SEQ(A a, B b)"


def event(time: Any, kind: str, **attributes: Any) -> dict[str, Any]:
    return {"ts": time, "type": kind, **attributes}


def ends(matches: Matches) -> list[Any]:
    """The times at which the matches start and end."""
    return [(m["match_start"], m["match_end"]) for m in matches.to_pylist()]


def test_a_snapshot_of_a_session_that_was_given_nothing() -> None:
    session = Query(PAIR).restore(Query(PAIR).session(lateness=0).snapshot())
    session.push([event(1, "A")])
    session.push([event(2, "B")])
    assert ends(session.push([event(3, "C")])) == [(1, 2)]


def test_a_snapshot_holds_everything() -> None:
    """Runs, events that wait for the watermark, the watermark, how late events may be, and those that were."""
    query = Query(PAIR)
    session = query.session(lateness=2, late="collect")
    session.push([event(1, "A"), event(9, "A"), event(10, "B")])
    session.push([event(3, "B")])
    blob = session.snapshot()
    assert isinstance(blob, bytes)
    session = Query(PAIR).restore(blob)
    assert session.late_events.to_pylist() == [event(3, "B")]
    assert (session.stats.events, session.stats.late) == (3, 1)
    session.push([event(7, "B"), event(8, "B")])
    assert session.stats.late == 2
    assert ends(session.push([event(13, "C")])) == [(1, 8), (1, 10), (9, 10)]


def test_a_snapshot_changes_nothing() -> None:
    query = Query(PAIR)
    session = query.session(lateness=0)
    session.push([event(1, "A"), event(2, "B")])
    blob = session.snapshot()
    for again in (session, query.restore(blob), query.restore(blob)):
        assert ends(again.close()) == [(1, 2)]


def test_a_snapshot_of_a_query_in_another_spelling() -> None:
    session = Query(PAIR).session()
    session.push([event(1, "A")])
    session = Query("pattern   SEQ(A a,\n  B b)").restore(session.snapshot())
    session.push([event(2, "B")])
    assert ends(session.close()) == [(1, 2)]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("PATTERN SEQ(A a, C b) WHERE a.x < Limit", {}),
        ("PATTERN SEQ(A a, B b) WHERE a.x < Limit", {"params": {"Limit": 2}}),
        ("PATTERN SEQ(A a, B b) WHERE a.x < Limit", {"order_by": "x"}),
        ("PATTERN SEQ(A a, B b) WHERE a.x < Limit", {"unit": "s"}),
        ("PATTERN SEQ(A a, B b) WHERE a.x < Limit", {"types": {"A": ["x"], "B": []}}),
    ],
    ids=["text", "params", "order_by", "unit", "types"],
)
def test_a_snapshot_of_another_query(text: str, options: Mapping[str, Any]) -> None:
    session = Query("PATTERN SEQ(A a, B b) WHERE a.x < Limit", params={"Limit": 1}).session()
    session.push([event(1, "A", x=0)])
    with pytest.raises(UsageError) as caught:
        Query(text, **{"params": {"Limit": 1}, **options}).restore(session.snapshot())
    assert caught.value.remedy


def snapshot() -> bytes:
    session = Query(PAIR).session(lateness=0)
    session.push([event(1, "A", name="x"), event(2, "A", name="y"), event(3, "C", name="z")])
    return session.snapshot()


def test_a_snapshot_that_is_cut_off() -> None:
    blob = snapshot()
    for size in range(len(blob)):
        with pytest.raises(UsageError):
            Query(PAIR).restore(blob[:size])


@pytest.mark.parametrize("place", range(8))
def test_a_snapshot_of_another_version(place: int) -> None:
    """What kind of bytes they are, and of which version, is said at their beginning."""
    blob = bytearray(snapshot())
    blob[place] ^= 0x55
    with pytest.raises(UsageError):
        Query(PAIR).restore(bytes(blob))


def test_a_snapshot_that_was_damaged() -> None:
    blob = snapshot()
    for place in range(8, len(blob)):
        damaged = bytes([*blob[:place], blob[place] ^ 0x10, *blob[place + 1 :]])
        with pytest.raises(UsageError):
            Query(PAIR).restore(damaged)


@pytest.mark.parametrize("blob", [b"", b"\0" * 500, b"no snapshot at all " * 20, "text", None, 7])
def test_what_is_no_snapshot(blob: Any) -> None:
    with pytest.raises(UsageError, match="snapshot"):
        Query(PAIR).restore(blob)


def test_a_match_that_waits_in_a_window_of_events_which_are_gone() -> None:
    query = Query("""
        PATTERN SEQ(ANY(A, B, C)+ a[], !(C m), ANY(A, B, C) b, !(ANY(B, C) n))
        WHERE skip_till_next_match { n.x > b.x AND m.x > last(a[].x) AND a[i].x > a[i-1].x }
        PARTITION BY id WITHIN 6 events TIES SIMULTANEOUS OUTPUT NON_OVERLAP
    """)
    rows = ["1B12", "2A04", "4C13", "5A00", "6A11", "7B04", "8A15", "9B15", "11B15", "12B12", "13A15", "14C15", "16A00"]
    events = [event(int(row[:-3]), row[-3], id=int(row[-2]), x=int(row[-1])) for row in rows]
    session, found = query.session(), []
    for one in events:
        found += session.push([one]).to_pylist() + session.advance(one["ts"]).to_pylist()
        session = query.restore(session.snapshot())
    found += session.close().to_pylist()
    assert found
    assert sorted(map(repr, found)) == sorted(map(repr, query.match(events, engine="reference").to_pylist()))
