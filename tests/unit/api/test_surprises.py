"""Warnings about queries that run and do not do what their author meant; none about ordinary ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.front.fronts import analyse, bind
from cepheid.language import parse
from cepheid.pattern.binding.schema import Roles, make_schema

START = datetime(2024, 3, 1, tzinfo=UTC)


def told(run: Callable[[], object]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run()
    assert all(isinstance(w.message, cep.CepheidWarning) for w in caught)
    assert all(w.filename == __file__ for w in caught)
    return [str(w.message) for w in caught]


def shop(count: int = 40, **more: Any) -> list[dict[str, Any]]:
    kinds = ("view", "cart", "purchase", "view")
    return [{"ts": START + timedelta(seconds=k), "type": kinds[k % 4], "user": k // 4, **more} for k in range(count)]


def by_session(query: cep.Query, rows: list[dict[str, Any]]) -> None:
    session = query.session()
    for row in rows:
        session.push([row])
    session.close()


WAYS = [
    pytest.param(lambda query, rows: query.match(rows), id="match"),
    pytest.param(lambda query, rows: query.match(rows, engine="reference"), id="reference"),
    pytest.param(by_session, id="session"),
]


@pytest.fixture(params=WAYS)
def run(request: pytest.FixtureRequest) -> Callable[..., object]:
    way: Callable[..., object] = request.param
    return way


EVENTS = [
    (
        "PATTERN SEQ(cart a, !(buy b)) WHERE [user] WITHIN 1 minute",
        shop(),
        {},
        "CEP005: no event has the type 'buy', so that its negation always holds; "
        "types that the query does not name: purchase, view",
    ),
    (
        "PATTERN SEQ(cart a, !(Purchases b)) WHERE [user] WITHIN 1 minute",
        shop(),
        {},
        "CEP005: no event has the type 'Purchases', so that its negation always holds; did you mean 'purchase'?",
    ),
    (
        "PATTERN SEQ(cart a, Purchase b) WHERE [user] WITHIN 1 minute",
        shop(),
        {},
        "CEP005: no event has the type 'Purchase'; did you mean 'purchase'?",
    ),
    (
        "FROM s(cart, wiev) PATTERN cart a",
        shop(),
        {},
        "CEP005: no event has the type 'wiev'; types that the query does not name: purchase, view",
    ),
    (
        "FROM s(cart, View) PATTERN cart a",
        shop(),
        {},
        "CEP005: no event has the type 'View'; did you mean 'view'?",
    ),
    (
        "PATTERN SEQ(cart a, purchase b) WHERE [user] WITHIN 30",
        shop(),
        {},
        "CEP007: WITHIN 30 has no unit, and is read as 30 milliseconds; "
        "write the unit: WITHIN 30 seconds, or WITHIN 30 milliseconds if that is meant",
    ),
    (
        "PATTERN SEQ(cart a, !(purchase b) FOR 30) WHERE [user]",
        shop(),
        {},
        "CEP007: FOR 30 has no unit, and is read as 30 milliseconds; "
        "write the unit: FOR 30 seconds, or FOR 30 milliseconds if that is meant",
    ),
    (
        "PATTERN SEQ(cart a, purchase b) WHERE [user] WITHIN 1 minute OUTPUT LONGEST COOLDOWN 5",
        shop(),
        {},
        "CEP007: COOLDOWN 5 has no unit, and is read as 5 milliseconds; "
        "write the unit: COOLDOWN 5 seconds, or COOLDOWN 5 milliseconds if that is meant",
    ),
    (
        "PATTERN SEQ(cart a, purchase b) WHERE [user] WITHIN 30 ms",
        shop(),
        {},
        "CEP006: WITHIN is 30 milliseconds, and no two events of different times are closer than 1 second; "
        "check the unit of WITHIN",
    ),
    (
        "PATTERN SEQ(cart a, !(purchase b) FOR 30 ms) WHERE [user]",
        shop(),
        {},
        "CEP006: FOR is 30 milliseconds, and no two events of different times are closer than 1 second; "
        "check the unit of FOR",
    ),
    (
        "PATTERN SEQ(cart a, purchase b) WHERE [user] WITHIN 1 minute OUTPUT LONGEST COOLDOWN 30 ms",
        shop(),
        {},
        "CEP006: COOLDOWN is 30 milliseconds, and no two events of different times are closer than 1 second; "
        "check the unit of COOLDOWN",
    ),
    (
        "PATTERN cart a RETURN a.user AS user INTO Carts; FROM Carts PATTERN SEQ(Carts a, Carts b) WITHIN 30 ms",
        shop(),
        {},
        "CEP006: WITHIN is 30 milliseconds, and no two events of different times are closer than 1 second; "
        "check the unit of WITHIN",
    ),
    (
        "PATTERN cart a RETURN a.user AS user INTO Carts; FROM s, Carts PATTERN SEQ(Carts a, View b)",
        shop(),
        {},
        "CEP005: no event has the type 'View'; did you mean 'view'?",
    ),
    (
        "PATTERN cart a RETURN a.user AS user INTO Carts; FROM Carts, s PATTERN SEQ(Carts a, !(buy b) FOR 1 minute)",
        shop(),
        {},
        "CEP005: no event has the type 'buy', so that its negation always holds; "
        "types that the query does not name: purchase, view",
    ),
    (
        "PATTERN SEQ(cart a, purchase b) WHERE [user] WITHIN 1 minute",
        [{**row, "ts": int(row["ts"].timestamp())} for row in shop()],
        {},
        "CEP009: the times in 'ts' are read as milliseconds, and look like seconds since 1970: "
        "the first one would be of 2024-03-01; pass unit='s'",
    ),
    (
        "PATTERN SEQ(cart a, purchase b) WHERE [user] WITHIN 1 minute",
        [{**row, "ts": int(row["ts"].timestamp() * 1000)} for row in shop()],
        {"unit": "s"},
        "CEP009: the times in 'ts' are read as seconds, and look like milliseconds since 1970: "
        "the first one would be of 2024-03-01; pass unit='ms'",
    ),
    (
        "PATTERN SEQ(cart a, purchase b) WHERE [value] WITHIN 1 minute",
        shop(value=None),
        {},
        "CEP008: every event has NULL in 'value', so that [value] never holds; name a column that has values",
    ),
    (
        "PATTERN SEQ(cart a, purchase b) WHERE [payload.id] WITHIN 1 minute",
        shop(payload={"id": None, "x": 1}),
        {},
        "CEP008: every event has NULL in 'payload.id', so that [payload.id] never holds; name a column that has values",
    ),
    (
        "PATTERN SEQ(cart a, purchase b) WHERE [payload.id] WITHIN 1 minute",
        shop(payload=None),
        {},
        "CEP008: every event has NULL in 'payload.id', so that [payload.id] never holds; name a column that has values",
    ),
]


@pytest.mark.parametrize(("text", "rows", "options", "warning"), EVENTS)
def test_what_the_events_show(
    run: Callable[..., object], text: str, rows: list[dict[str, Any]], options: dict[str, Any], warning: str
) -> None:
    query = cep.Query(text, **options)
    assert told(lambda: run(query, rows)) == [warning]
    assert told(lambda: run(query, rows)) == []  # once for each query


ORDINARY = [
    ("PATTERN SEQ(cart a, purchase b) WHERE [user] WITHIN 1 minute", shop(), {}),
    ("PATTERN SEQ(cart a, !(purchase b)) WHERE [user] WITHIN 1 minute", shop(), {}),
    ("PATTERN SEQ(cart a, !(buy b), view c, purchase d) WHERE [user] WITHIN 1 minute", shop(), {}),  # all are named
    ("PATTERN SEQ(cart a, !(buy b)) WHERE [user] WITHIN 1 minute", shop(7), {}),
    ("PATTERN SEQ(cart a, alarm b) WHERE [user] WITHIN 1 minute", shop(), {}),
    ("PATTERN SEQ(cart a, purchase b) WHERE [user] WITHIN 1 second", shop(), {}),
    ("PATTERN cart a WITHIN 1 ms", shop(), {}),
    ("FROM s(cart, view) PATTERN cart a", shop(), {}),
    ("FROM s(cart, alarm) PATTERN SEQ(cart a, alarm b)", shop(), {}),
    (
        "PATTERN cart a RETURN a.user AS user INTO Cart; FROM Cart(Cart), s(view) PATTERN SEQ(Cart a, view b)",
        shop(),
        {},
    ),
    ("PATTERN SEQ(cart a, !(purchase b) FOR 1 second) WHERE [user]", shop(), {}),
    ("PATTERN cart a RETURN a.user AS user INTO Cart; FROM Cart, s PATTERN SEQ(Cart a, view b)", shop(), {}),
    ("PATTERN SEQ(cart a, purchase b) WITHIN 3 events", shop(), {}),
    ("PATTERN SEQ(cart a, purchase b) WITHIN 30", [{"ts": k, "type": "cart"} for k in range(9)], {}),
    ("PATTERN SEQ(cart a, purchase b)", [{"ts": 1_700_000_000 + k, "type": "cart"} for k in range(9)], {}),
    ("PATTERN SEQ(cart a, purchase b) WITHIN 1 hour", [{"ts": 10**6 * k, "type": "cart"} for k in range(9)], {}),
    ("PATTERN SEQ(cart a, purchase b) WHERE [user] WITHIN 30", shop(), {"unit": "s"}),
    ("PATTERN SEQ(cart a, purchase b) WHERE [user] WITHIN 1 minute", [], {}),
    ("PATTERN SEQ(cart a, cart b) WHERE a.n > 1 AND a.n < 3 AND b.n >= 3 AND b.n <= 3", shop(n=1), {}),
]


@pytest.mark.parametrize(("text", "rows", "options"), ORDINARY)
def test_ordinary_queries(
    run: Callable[..., object], text: str, rows: list[dict[str, Any]], options: dict[str, Any]
) -> None:
    assert told(lambda: run(cep.Query(text, **options), rows)) == []


@pytest.mark.parametrize(
    ("condition", "warning"),
    [
        ("a.x > 20 AND a.x < 10", "a.x > 20 and a.x < 10 are never TRUE together"),
        ("a.x = 1 AND b.x = 2 AND a.x = 2", "a.x = 1 and a.x = 2 are never TRUE together"),
        ("20 < a.x AND a.x < 20", "20 < a.x and a.x < 20 are never TRUE together"),
        ("a.x BETWEEN 20 AND 10", "a.x BETWEEN 20 AND 10 is never TRUE"),
        ("a.x >= 1.5 AND a.x = 1", "a.x >= 1.5 and a.x = 1 are never TRUE together"),
        ("a.s = 'u' AND a.s = 'v'", "a.s = 'u' and a.s = 'v' are never TRUE together"),
        ("a.x > b.x AND a.x < b.x", "a.x > b.x and a.x < b.x are never TRUE together"),
        ("a.x > b.x AND b.x >= a.x", "a.x > b.x and b.x >= a.x are never TRUE together"),
        ("a.x = b.x + 1 AND a.x != b.x + 1", "a.x = b.x + 1 and a.x != b.x + 1 are never TRUE together"),
        ("a.x > b.x OR (a.x > 20 AND a.x < 10)", "a.x > 20 and a.x < 10 are never TRUE together"),
        ("a.s = '200' AND a.s = 'ok'", "a.s = '200' and a.s = 'ok' are never TRUE together"),
        (
            "a.t > '2024-10-01' AND a.t < '2024-09-01'",
            "a.t > '2024-10-01' and a.t < '2024-09-01' are never TRUE together",
        ),
    ],
)
def test_conditions_that_contradict(condition: str, warning: str) -> None:
    text = f"PATTERN SEQ(A a, B b) WHERE {condition} WITHIN 1 hour"
    (given,) = told(lambda: cep.Query(text))
    assert given.partition(";")[0] == f"CEP004: {warning}"


@pytest.mark.parametrize(
    "condition",
    [
        "a.x > 20 OR a.x < 10",
        "a.x > 20 AND b.x < 10",
        "a.x > 20 AND a.y < 10",
        "a.x >= 20 AND a.x <= 20",
        "NOT a.x BETWEEN 20 AND 10",
        "a.x = 1 AND a.x != 2",
        "(a.x > 20 OR a.y > 1) AND a.x < 10",
        "abs(a.x) > 20 AND abs(a.x) < 10",
        "a.x >= b.x AND a.x <= b.x",
        "a.x > b.x OR a.x < b.x",
        "a.x > b.x AND a.x != b.x",
        "abs(a.x) > b.x AND abs(a.x) < b.x",
        "a.x >= '9' AND a.x <= '11'",  # of numbers
        "a.ts >= '2024-01-01 00:00:00' AND a.ts <= '2024-01-01'",
        "a.ts >= '2023-12-31 22:00:00+00:00' AND a.ts <= '2023-12-31 20:00:00'",  # in the zone of the column
        "a.ts >= TIMESTAMP '2023-12-31 22:00:00+00:00' AND a.ts <= TIMESTAMP '2023-12-31 20:00:00'",
        "a.x > 9007199254740992 AND a.x <= 9007199254740993.0",  # as a float, which it is compared with
    ],
)
def test_conditions_that_do_not_contradict(condition: str) -> None:
    assert told(lambda: cep.Query(f"PATTERN SEQ(A a, B b) WHERE {condition} WITHIN 1 hour")) == []


@pytest.mark.parametrize(
    ("pattern", "condition", "follows"),
    [
        ("A+ a[]", "a[i].x > 5 AND a[i].x < 3", "a[i].x > 5 and a[i].x < 3 | , so a[] never gets a second event"),
        ("SEQ(A a, !(A n), B b)", "n.x > a.x AND n.x < a.x", "n.x > a.x and n.x < a.x | , so that !n always holds"),
        ("SEQ(A a, A? n, B b)", "n.x > 5 AND n.x < 3", "n.x > 5 and n.x < 3 | , so that n is never there"),
        ("SEQ(A a, A* n[], B b)", "n[].x > 5 AND n[].x < 3", "n[].x > 5 and n[].x < 3 | , so that n is never there"),
        ("OR(A a, SEQ(A n, B b))", "n.x > 5 AND n.x < 3", "n.x > 5 and n.x < 3 | , so that n is never there"),
    ],
)
def test_contradictions_that_leave_matches(pattern: str, condition: str, follows: str) -> None:
    given = told(lambda: cep.Query(f"PATTERN {pattern} WHERE {condition} WITHIN 1 hour"))
    assert [one.partition(";")[0] for one in given if "CEP004" in one] == [
        f"CEP004: {follows.replace(' | ', ' are never TRUE together')}"
    ]


def test_contradictions_in_from() -> None:
    assert told(lambda: cep.Query("FROM s WHERE value > 20 AND value < 10 PATTERN cart a")) == [
        "CEP004: value > 20 and value < 10 are never TRUE together; correct one of them, or join them with OR"
    ]


def test_contradictions_of_the_builder_and_of_parameters() -> None:
    a, b = cep.var("a"), cep.var("b")
    warning = "correct one of them, or join them with OR"
    assert told(lambda: cep.Query(cep.seq(cep.event("A", a), cep.event("B", b)).where((a.x > 20) & (a.x < 10)))) == [
        f"CEP004: a.x > 20 and a.x < 10 are never TRUE together; {warning}"
    ]
    text = "PATTERN A a WHERE a.x > low AND a.x < high"
    assert told(lambda: cep.Query(text, params={"low": 20, "high": 10})) == [
        f"CEP004: a.x > low and a.x < high are never TRUE together; {warning}"
    ]


def test_a_session_tells_after_enough_events() -> None:
    session = cep.Query("PATTERN SEQ(cart a, Purchase b, !(buy c)) WHERE [user] WITHIN 1 minute").session()
    rows = pa.Table.from_pylist(shop(10_000))
    assert told(lambda: session.push(rows.slice(0, 999))) == []
    assert told(lambda: session.push(rows.slice(999, 1))) == [
        "CEP005: none of the first 1,000 events has the type 'Purchase'; did you mean 'purchase'?"
    ]
    assert told(lambda: session.push(rows.slice(1000))) == [
        "CEP005: none of the first 10,000 events has the type 'buy', so that its negation always holds; "
        "types that the query does not name: purchase, view",
    ]
    assert told(session.close) == []


def test_a_type_that_may_come_later_is_not_misspelt() -> None:
    """Of a few events of a stream less is known than of all events of a table."""
    rows = [{"ts": k, "type": "login_ok"} for k in range(1000)]
    session = cep.Query("PATTERN SEQ(login_fail a, login_fail b) WITHIN 1 hour").session()
    assert told(lambda: session.push(rows)) == []
    assert told(session.close) == ["CEP005: no event has the type 'login_fail'; did you mean 'login_ok'?"]


def test_close_events_anywhere_show_that_a_window_is_not_tiny() -> None:
    times = [10**6 * k for k in range(5000)]
    rows = pa.table({"ts": times, "type": ["A"] * 5000})
    late = pa.table({"ts": [*times[::-1], 10**6 * 4999 + 1], "type": ["A"] * 5001})
    text = "PATTERN SEQ(A a, A b) WITHIN 20"
    assert [w[:6] for w in told(lambda: cep.Query(text).match(rows))] == ["CEP006"]
    assert told(lambda: cep.Query(text).match(late)) == []


@pytest.mark.parametrize(
    ("condition", "warned"),
    [
        ("sum(a[].n) > 3", True),
        ("count(DISTINCT a[].n) > 1", True),
        ("max(a[].n) > 1 AND min(a[].n) < 4 AND a.LEN > 1", True),
        ("match_id != 'x'", True),
        ("a.LEN > 1 AND max(a[].n) > 1", False),
        ("upper(b.s) = 'U'", False),
        ("b.n > 1 AND b.s = 'u' AND b.user > 1", False),  # of one event
    ],
)
def test_having_on_every_subset(condition: str, warned: bool) -> None:
    """It is told if and only if runs do not test HAVING, so that every match is made."""
    text = f"PATTERN SEQ(A+ a[], B b) WITHIN 1 hour HAVING {condition}"
    assert [warning[:6] for warning in told(lambda: cep.Query(text))] == ["CEP011"] * warned
    columns = {"ts": pa.int64(), "type": pa.string(), "n": pa.int64(), "s": pa.string(), "user": pa.int64()}
    schema = make_schema(pa.schema(list(columns.items())), Roles())
    bound = bind(analyse(parse(text).queries[0], {}, Roles()), schema, {})
    assert CompiledQuery(bound).tests_having is not warned


def test_a_warning_has_a_code_a_message_and_a_remedy() -> None:
    with pytest.warns(cep.CepheidWarning) as caught:
        cep.Query("PATTERN A a WHERE a.x = NULL")
    warning = caught[0].message
    assert isinstance(warning, cep.CepheidWarning)
    assert (warning.code, warning.remedy) == ("CEP003", "write IS NULL or IS NOT NULL")


def test_an_event_further_back_than_there_are() -> None:
    text = "PATTERN A+ a[] WHERE skip_till_next_match {{ a[1].x = 1 AND {} }} WITHIN 9"
    with pytest.warns(
        cep.CepheidWarning, match=r"CEP003: a\[i-2\] is NULL for a\[2\], so a\[\] never gets a second event"
    ):
        cep.Query(text.format("a[i].x > a[i-2].x"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cep.Query(text.format("(a[i-2].x IS NULL OR a[i].x > a[i-2].x)"))


def test_that_events_that_were_refused_are_not_looked_at() -> None:
    session = cep.Query("PATTERN SEQ(A a, B b) WITHIN 5 milliseconds").session(lateness=1, speculate=2, op="op")
    with pytest.raises(cep.InputError, match="CEP408"):
        session.push([{"ts": 1, "type": "A", "x": "x", "op": "-"}, {"ts": 9, "type": "A", "x": "x", "op": "+"}])
    session.push(
        [{"type": "A", "y": True, "ts": 10, "op": "+"}]
    )  # the first batch that is accepted defines the columns
    session.push([{"type": "B", "y": True, "ts": 11, "op": "+"}])
    assert not told(session.close)
