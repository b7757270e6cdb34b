"""A contiguous query as an automaton of one's own: its text, and what has none."""

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.language import parse, print_program

SCHEMA = pa.schema(
    [
        ("ts", pa.int64()),
        ("type", pa.string()),
        ("k", pa.int64()),
        ("x", pa.int64()),
        ("p", pa.struct([("u", pa.int64())])),
    ]
)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("PATTERN A a", "AUTOMATON start -> a\nARC start -> a ON A"),
        (
            "PATTERN SEQ(A a, B b) WHERE partition_contiguity { [k] AND a.x < b.x } WITHIN 5 minutes",
            """\
AUTOMATON start -> b
REGISTER a_x INT = NULL
ARC start -> a ON A SET a_x = e.x
ARC a -> b ON B WHEN r.a_x < e.x
WHERE [k]
WITHIN 5 minutes""",
        ),
        (
            "PATTERN SEQ(A a, B b) WHERE strict_contiguity { [k] }",
            """\
AUTOMATON start -> b
REGISTER key_k INT = NULL
ARC start -> a ON A WHEN e.k IS NOT NULL SET key_k = e.k
ARC a -> b ON B WHEN e.k = r.key_k""",
        ),
        (
            "PATTERN A{2,} a[] WHERE strict_contiguity { a[i].x > a[i-1].x AND a.LEN < 4 } PARTITION BY k "
            "HAVING a.LEN > 2 RETURN a.LEN AS n, a[1].x AS low, a[a.LEN].x AS high",
            """\
AUTOMATON start -> match
REGISTER a_x INT = NULL, a_len INT = NULL, a_first_x INT = NULL
ARC start -> a ON A SET a_x = e.x, a_len = 1, a_first_x = e.x
ARC a -> a_2 ON A WHEN e.x > r.a_x SET a_x = e.x, a_len = r.a_len + 1
ARC a_2 -> a_2 ON A WHEN e.x > r.a_x SET a_x = e.x, a_len = r.a_len + 1
EPSILON a_2 -> match WHEN r.a_len < 4 AND r.a_len > 2
PARTITION BY k
RETURN r.a_len AS n, r.a_first_x AS low, r.a_x AS high""",
        ),
        (
            "FROM s(A, B, C) WHERE x > lowest PATTERN OR(A a, SEQ(B start, C match)) WHERE strict_contiguity { } "
            "RETURN a.x AS a, match.x AS c INTO N",
            """\
FROM s(A, B, C) WHERE x > 3
AUTOMATON start -> match_2
REGISTER a_x INT = NULL, match_x INT = NULL, out_a INT = NULL, out_c INT = NULL
ARC start -> a ON A SET a_x = e.x
ARC start -> start_2 ON B
ARC start_2 -> match ON C SET match_x = e.x
EPSILON a -> match_2 SET out_a = r.a_x, out_c = NULL
EPSILON match -> match_2 SET out_a = NULL, out_c = r.match_x
RETURN r.out_a AS a, r.out_c AS c INTO N""",
        ),
    ],
)
def test_the_text(query: str, text: str) -> None:
    made = cep.Query(query, params={"lowest": 3}).automaton(SCHEMA)
    assert made.text == text
    assert print_program(parse(text)) == text


def test_that_matches_are_the_same() -> None:
    query = cep.Query(
        "PATTERN SEQ(A+ a[], B b) WHERE partition_contiguity { [k] AND a[i].x > avg(a[..i-1].x) } "
        "RETURN sum(a[].x) AS x"
    )
    events = [
        {"ts": t, "type": kind, "k": k, "x": x}
        for t, (kind, k, x) in enumerate([("A", 1, 1), ("A", 2, 5), ("A", 1, 4), ("A", 1, 3), ("B", 1, 0), ("B", 2, 0)])
    ]
    automaton = query.automaton(events)
    for engine in ("plain", "interpreted", "reference"):
        found = automaton.match(events, engine=engine).to_pylist()
        assert [(m["match_start"], m["match_end"], m["x"]) for m in found] == [(0, 4, 8), (3, 4, 3), (1, 5, 5)]
    assert [m["x"] for m in query.match(events)] == [8, 3, 5]


def test_that_an_automaton_is_one_already() -> None:
    query = cep.Query("AUTOMATON a -> b ARC a -> b")
    assert query.automaton() is query


CHANGE = "change that part of the query, or write the automaton yourself: AUTOMATON q0 -> q1 ARC …"


@pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")
@pytest.mark.parametrize(
    ("query", "reason", "remedy"),
    [
        (
            "PATTERN SEQ(A a, B b)",
            "it skips events",
            "use strict_contiguity or partition_contiguity, or write the automaton yourself, with IGNORE",
        ),
        (
            "PATTERN SEQ(A a, B b) WHERE strict_contiguity { a.y < b.y }",
            "a register can't hold a_y, whose type is null",
            "pass the events or their schema: q.automaton(table.schema)",
        ),
        (
            "PATTERN SEQ(A a, !(B b)) WHERE strict_contiguity { } WITHIN 5",
            "an event must be absent before or after it",
            CHANGE,
        ),
        ("PATTERN SEQ(!(B b), A a) WITHIN 5", "an event must be absent before or after it", CHANGE),
        ("PATTERN A a OUTPUT NON_OVERLAP", "OUTPUT NON_OVERLAP", CHANGE),
        ("PATTERN A a RETURN a", "RETURN of whole events", CHANGE),
        ("PATTERN A a RETURN match_id", "match_id", CHANGE),
        ("PATTERN A a TIES SIMULTANEOUS", "TIES SIMULTANEOUS", CHANGE),
        ("PATTERN A a WHERE 1 = 2", "it can't have a match", CHANGE),
        ("PATTERN SEQ(A a, B b) WHERE partition_contiguity { [p.u] }", "a key that is a field of a struct", CHANGE),
    ],
)
def test_what_has_no_automaton(query: str, reason: str, remedy: str) -> None:
    schema = SCHEMA.append(pa.field("y", pa.null()))
    with pytest.raises(cep.UsageError) as error:
        cep.Query(query).automaton(schema)
    assert error.value.code == "CEP613"
    assert error.value.message == f"the query can't be written as an automaton: {reason}"
    assert error.value.remedy == remedy


@pytest.mark.parametrize(
    ("type_", "reason"),
    [
        (pa.timestamp("us", "Europe/Paris"), "in the time zone Europe/Paris"),
        (pa.timestamp("ns"), "to the nanosecond"),
        (pa.duration("ns"), "to the nanosecond"),
    ],
)
def test_times_that_a_register_would_change(type_: pa.DataType, reason: str) -> None:
    query = cep.Query("PATTERN A a RETURN a.at AS at")
    with pytest.raises(cep.UsageError, match=f"a register can't hold a_at {reason}"):
        query.automaton(SCHEMA.append(pa.field("at", type_)))


def test_that_a_program_has_none() -> None:
    with pytest.raises(cep.UsageError, match="a program can't be written as one automaton"):
        cep.Query("PATTERN A a RETURN a.x AS x INTO N; FROM N PATTERN N n").automaton(SCHEMA)
