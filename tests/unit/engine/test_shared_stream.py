"""Queries that were added to a session share one stream, and emit what each emits alone."""

from collections.abc import Iterator

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid import Query, Session
from cepheid.engine.session.waiting_session import WaitingSession

EVENTS = [{"ts": t, "type": "ABC"[t * 7 % 3], "id": t * 5 % 4, "x": t % 11} for t in range(400)]
TEXTS = {
    "pair": "PATTERN SEQ(A a, B b) WHERE [id] AND a.x > 3 WITHIN 20 milliseconds",
    "missing": "PATTERN SEQ(A a, !(C c), B b) WHERE [id] WITHIN 15 milliseconds",
    "closure": "PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_next_match(a, b[], c) { [id] } WITHIN 30 milliseconds",
    "strict": "PATTERN SEQ(A a, B b) WHERE strict_contiguity(a, b) { a.x > 1 }",
    "set": """
        CESAR
        LET first := A
        LET second := B
        LET same := first.id = second.id
        LET short := DUR < 10 milliseconds
        σ_{short}(first ;_{same} second)
    """,
}
LIVES = {name: (-1 if k == 0 else 30 * k + 7, 350 - 20 * k) for k, name in enumerate(TEXTS)}


def session(**options: object) -> Session:
    """A session whose queries come at different times."""
    made = Query("PATTERN SEQ(C c, C d) WITHIN 5 milliseconds").session(**options)  # type: ignore[call-overload]
    made.push(pa.Table.from_pylist(EVENTS[:1]).slice(0, 0))
    return made


def emitted(made: Session, size: int, restore: bool) -> dict[str, list[tuple[object, ...]]]:
    """The matches of each query that was added, where events come in batches."""
    rows: dict[str, list[tuple[object, ...]]] = {name: [] for name in TEXTS}

    def take(matches: cep.Matches) -> None:
        for name, some in matches.outputs.items():
            if name in rows:
                rows[name] += [tuple(map(str, row.values())) for row in some.to_pylist()]

    for begin in range(0, len(EVENTS), size):
        batch = EVENTS[begin : begin + size]
        for name, (since, until) in LIVES.items():
            if since < batch[0]["ts"] and name not in made.engine.history.added:
                made.add(name, TEXTS[name], at=max(since, made.engine.clock.latest or -1), until=until)
        take(made.push(batch))
        take(made.advance(batch[-1]["ts"]))
        if restore and begin // size % 5 == 3:
            made = Query("PATTERN SEQ(C c, C d) WITHIN 5 milliseconds").restore(made.snapshot())
    take(made.close())
    return rows


def streams(made: Session) -> int:
    """How many streams the queries read that were added."""
    engine = made.engine
    assert isinstance(engine, WaitingSession)
    return len({id(query.pipeline.events) for query in engine.added.values()})


def expected(size: int) -> Iterator[tuple[str, list[tuple[object, ...]]]]:
    """What `match` finds of each query in the events of its lifetime."""
    for name, (since, until) in LIVES.items():
        first = next((e["ts"] for e in EVENTS[::size] if e["ts"] > since), 0)
        at = max(since, first - 1 if first else -1)
        found = Query("PATTERN SEQ(C c, C d) WITHIN 5 milliseconds").match(
            EVENTS, changes=[cep.add_query(name, TEXTS[name], at=at, until=until)]
        )
        yield name, [tuple(map(str, row.values())) for row in found.outputs[name].to_pylist()]


@pytest.mark.parametrize("size", [1, 7, 64])
@pytest.mark.parametrize("restore", [False, True])
def test_that_each_query_emits_what_it_emits_alone(size: int, restore: bool) -> None:
    rows = emitted(session(), size, restore)
    for name, alone in expected(size):
        assert sorted(rows[name]) == sorted(alone), name
        assert rows[name] or name == "strict"


def test_that_added_queries_share_one_stream_also_after_a_restart() -> None:
    made = session()
    for name, text in TEXTS.items():
        made.add(name, text, at=-1)
    assert streams(made) == 1
    made.push(EVENTS[:50])
    made.advance(40)
    again = Query("PATTERN SEQ(C c, C d) WITHIN 5 milliseconds").restore(made.snapshot())
    assert streams(again) == 1
    for one in (made, again):
        one.push(EVENTS[50:60])
    ends = [{name: matches.count() for name, matches in one.close().outputs.items()} for one in (made, again)]
    assert ends[0] == ends[1]
    assert ends[0]["pair"] > 0


def test_that_a_query_with_other_conditions_leaves_the_stream_of_the_others() -> None:
    made = session()
    for name in ("pair", "closure"):
        made.add(name, TEXTS[name], at=-1)
    made.push(EVENTS[:50])
    made.replace("pair", TEXTS["pair"].replace("> 3", "> 5"))
    assert streams(made) == 2
    made.push(EVENTS[50:90])
    assert made.close().outputs["pair"].count() > 0


def test_that_arcs_that_may_change_keep_a_stream_for_themselves() -> None:
    made = session()
    text = "AUTOMATON a -> c ARC up: a -> b ON A WHEN e.x > {} ARC b -> c ON B"
    for limit in (3, 6):
        made.add(f"over {limit}", text.format(limit), at=-1)
    assert streams(made) == 2
    made.push(EVENTS[:100])
    outputs = made.close().outputs
    assert outputs["over 3"].count() > outputs["over 6"].count() > 0
