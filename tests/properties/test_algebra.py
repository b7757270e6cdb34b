"""CESAR (S19 to S22): every engine gives what the reference gives, and the laws of the algebra hold."""

from collections import Counter
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid import Query
from cepheid.testing.outcomes import to_json
from cepheid.testing.strategies import GeneratedQuery, algebra_queries, lasting_streams

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

MOST = settings.default.max_examples if settings.default else 80
FEWER = settings(max_examples=MOST // 4)
START = "began"
OUT = "CESAR\n  LET S1, S2, S3 := A\n"


def found(query: Query, events: pa.Table, engine: str = "reference") -> list[str]:
    return [to_json(match) for match in query.match(events, engine=engine).to_pylist()]


def result(text: str, events: pa.Table, start: str | None = START) -> set[str]:
    return set(found(Query(text, start=start), events))


@settings(max_examples=MOST // 2)
@given(algebra_queries(), lasting_streams())
def test_that_engines_give_what_the_reference_gives(query: GeneratedQuery, events: pa.Table) -> None:
    """`interpreted` is the paper's Algorithm 1 on event automata, `plain` what machine code is made of."""
    made = query.make()
    expected = found(made, events)
    assert len(set(expected)) == len(expected)
    assert Counter(found(made, events, "interpreted")) == Counter(expected)
    assert found(made, events, "plain") == expected


@settings(max_examples=6)
@given(algebra_queries(depth=1), lasting_streams())
def test_that_machine_code_gives_what_the_reference_gives(query: GeneratedQuery, events: pa.Table) -> None:
    made = query.make()
    assert found(made, events, "compiled") == found(made, events)


@FEWER
@given(algebra_queries(start=False), lasting_streams(lasting=False))
def test_that_points_are_events_whose_start_is_their_end(query: GeneratedQuery, events: pa.Table) -> None:
    events = events.drop_columns([START])
    made, lasting = query.make(), GeneratedQuery(query.program, {"start": START}).make()
    expected = found(made, events)
    assert found(made, events, "plain") == expected
    assert found(lasting, events.append_column(START, events["ts"]), "plain") == expected


@FEWER
@given(algebra_queries(), lasting_streams(), st.randoms(use_true_random=False))
def test_that_sessions_give_what_one_call_gives(query: GeneratedQuery, events: pa.Table, chance: Random) -> None:
    """In random batches, out of order within the watermark, with snapshots on the way."""
    made = query.make()
    lateness = chance.choice([0, 2, 5])
    order = sorted(range(events.num_rows), key=lambda k: events["ts"][k].as_py() + chance.randint(0, lateness))
    events = events.take(pa.array(order, pa.int64()))
    session = made.session(lateness=lateness)
    session.push(events.slice(0, 0))
    given_: list[str] = []
    at = 0
    while at < events.num_rows:
        size = chance.randint(1, 4)
        given_ += map(to_json, session.push(events.slice(at, size)).to_pylist())
        at += size
        if chance.random() < 0.3:
            session = made.restore(session.snapshot())
    given_ += map(to_json, session.close().to_pylist())
    assert Counter(given_) == Counter(found(made, events))


@FEWER
@given(algebra_queries(), lasting_streams(), st.randoms(use_true_random=False))
def test_that_speculation_ends_with_what_one_call_gives(
    query: GeneratedQuery, events: pa.Table, chance: Random
) -> None:
    """S15: what is left of the changes."""
    made = query.make()
    session = made.session(speculate="all")
    session.push(events.slice(0, 0))
    left: Counter[str] = Counter()
    order = list(range(events.num_rows))
    chance.shuffle(order)
    for k in [*order, None]:
        changes = session.close() if k is None else session.push(events.slice(k, 1))
        for change in changes.to_pylist():
            sign = 1 if change.pop("op") == "+" else -1
            left[to_json(change)] += sign
    assert +left == Counter(found(made, events))
    assert not -left


@FEWER
@given(algebra_queries(), lasting_streams(), st.randoms(use_true_random=False))
def test_that_duplicates_and_the_order_of_ties_change_nothing(
    query: GeneratedQuery, events: pa.Table, chance: Random
) -> None:
    made = query.make()
    order = [k for k in range(events.num_rows) for _ in range(chance.choice([1, 1, 2]))]
    chance.shuffle(order)
    more = events.take(pa.array(order, pa.int64()))
    assert found(made, more, "plain") == found(made, events)


# Laws.


@FEWER
@given(lasting_streams(max_size=10))
def test_that_select_project_and_rename_distribute_over_union(events: pa.Table) -> None:
    for operator in ("SELECT[x > f OR DUR > 2]", "PROJECT[k, s]", "RENAME[x -> y, k -> x]", "ADD[x := x + DUR]"):
        expected = result(f"CESAR {operator}(A) UNION {operator}(B)", events)
        assert result(f"CESAR {operator}(A UNION B)", events) == expected


@FEWER
@given(lasting_streams(max_size=10, distinct=True))
def test_that_sequences_of_one_stream_of_points_are_associative(events: pa.Table) -> None:
    """Where no two events have one time, and nothing is asked."""
    expected = result(f"{OUT} (S1 ; S2) ; S3", events)
    assert result(f"{OUT} S1 ; (S2 ; S3)", events) == expected


def test_that_sequences_of_events_that_last_are_not_associative() -> None:
    rows = [(1, 1), (2, 5), (3, 4), (6, 6)]
    events = pa.table({START: [a for a, _ in rows], "ts": [b for _, b in rows], "type": ["A"] * 4, "n": [1, 2, 3, 4]})
    left, right = (
        {tuple(m[f"S{k}_n"] for k in (1, 2, 3)) for m in Query(OUT + text, start=START).match(events)}
        for text in ("(S1 ; S2) ; S3", "S1 ; (S2 ; S3)")
    )
    assert left == {(1, 3, 4)}
    assert right == {(1, 2, 4), (1, 3, 4)}


@FEWER
@given(lasting_streams(max_size=6))
def test_that_an_iteration_is_the_union_of_sequences(events: pa.Table) -> None:
    """S21: μ without `.last` is A ; B, A ; B ; B, …, of which the last B stays."""
    theta = "S2.k = S1.k AND DUR <= 8"
    steps, term = [], "S1"
    for _ in range(events.num_rows):
        term = f"SELECT[S2.x >= S1.x](THEN[{theta}]({term}, S2))"
        steps.append(term)
    lets = "CESAR LET S1 := A LET S2 := A UNION B\n"
    expected = result(f"{lets} {' UNION '.join(steps) or 'SELECT[FALSE](THEN[TRUE](S1, S2))'}", events)
    assert result(f"{lets} ITERATE[SELECT[S2.x >= S1.x], {theta}](S1, S2)", events) == expected


@FEWER
@given(lasting_streams(max_size=10, distinct=True))
def test_that_skip_till_next_match_is_a_sequence_of_points(events: pa.Table) -> None:
    """SASE+ and CESAR say the same where no two events have one time."""
    sase = Query(
        """
        PATTERN SEQ(A a, B b, A c)
        WHERE skip_till_next_match(a, b, c) { b.k = a.k AND c.x > b.x }
        RETURN a.f AS S1_f, b.f AS S2_f, c.f AS S3_f
        """
    )
    text = """CESAR
      LET S1, S3 := A
      LET S2 := B
      PROJECT[S1.f, S2.f, S3.f](S1 ;[S2.k = S1.k] S2 ;[S3.x > S2.x] S3)"""
    plain = pa.table({**{n: events[n] for n in events.column_names}, "f": pa.array(range(len(events)), pa.float64())})
    assert set(map(to_json, sase.match(plain, engine="reference").to_pylist())) == result(text, plain, None)


def test_that_a_selection_of_the_right_operand_is_not_one_of_the_sequence() -> None:
    """σ pushed into the right operand lets a wait go on that the event would have ended."""
    events = pa.table({"ts": [1, 2, 3], "type": ["A", "B", "B"], "x": [0, 1, 9]})
    lets = "CESAR LET S1 := A LET S2 := B\n"
    around = Query(f"{lets} SELECT[S2.x > 5](S1 ; S2)").match(events).to_pylist()
    inside = Query(f"{lets} S1 ; SELECT[S2.x > 5](S2)").match(events).to_pylist()
    assert around == []
    assert inside == [{"match_start": 1, "match_end": 3, "S1_x": 0, "S2_x": 9}]
