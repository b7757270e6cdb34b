"""What a session no longer needs is given up, and what it needs is kept."""

import random

import pytest

from cepheid import Query
from cepheid.engine.stream import input_stream


def test_strings_that_no_run_holds_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_stream, "FEW_STRINGS", 4)
    query = Query("PATTERN SEQ(A a, B b, C c) WHERE a.s = b.s AND b.s != c.s AND a.s != 'k3' WITHIN 30")
    chance = random.Random(7)
    events = [
        {
            "ts": t,
            "type": chance.choice("ABC"),
            "s": None if chance.random() < 0.1 else f"k{chance.randrange(5) + t // 40 * 3}",
        }
        for t in range(400)
    ]
    session = query.session(engine="plain", plan="automaton", lateness=0)
    found = []
    for k in range(0, 400, 20):
        found += session.push(events[k : k + 20]).to_pylist()
    assert len(session.engine.pipeline.streams[None,].codes.strings) < 20  # of about 35 that there were
    found += session.close().to_pylist()
    assert sorted(map(repr, found)) == sorted(map(repr, query.match(events, engine="reference").to_pylist()))


def test_arrays_of_an_earlier_run_do_not_grow() -> None:
    query = Query("PATTERN SEQ(A a, B b) WHERE strict_contiguity { a.x < b.x } WITHIN 10 events")
    events = [{"ts": t, "type": "AB"[t % 2], "x": t % 7} for t in range(100)]
    sizes = []
    for _ in range(4):
        matches = query.match(events, engine="compiled", plan="automaton")
        assert len(matches) == len(query.match(events, engine="reference"))
        (made,) = query._cache._made.values()
        sizes.append(made.spare_scans[0].nbytes())
    assert len(set(sizes)) == 1


def test_arrays_of_an_earlier_run_with_nulls_serve_one_without() -> None:
    query = Query("PATTERN SEQ(A a, B b) WHERE b.x <= a.x WITHIN 5")
    for null in (True, False, False, True, False):
        events = [{"ts": t, "type": "AB"[t % 2], "x": None if null and t == 3 else 5 - t % 5} for t in range(6)]
        matches = query.match(events, engine="compiled", plan="automaton").to_pylist()
        assert matches == query.match(events, engine="reference").to_pylist()
        assert matches
