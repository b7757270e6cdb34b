"""Programs whose user-defined functions return NULL for a while, or values of several types."""

import pytest

import cepheid as cep

TEXT = """
    PATTERN A a RETURN half(a.x) AS y INTO M;
    FROM M PATTERN SEQ(M m, M n) WHERE strict_contiguity { m.y IS NULL OR n.y > m.y } RETURN m.y AS one, n.y AS two
"""


def half(x: int) -> float | None:
    return None if x < 10 else x / 2


def events(*values: int) -> list[dict[str, object]]:
    return [{"ts": k, "type": "A", "x": x} for k, x in enumerate(values)]


QUERY = cep.Query(TEXT, functions={"half": half})


def one_by_one(values: tuple[int, ...], restart: bool = False) -> list[list[tuple[object, object]]]:
    session, given = QUERY.session(lateness=0), []
    for event in events(*values):
        given.append([(m["one"], m["two"]) for m in session.push([event])])
        session = QUERY.restore(session.snapshot()) if restart else session
    return [*given, [(m["one"], m["two"]) for m in session.close()]]


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("values", [(1, 2, 20, 30), (20, 30, 1, 2, 40), (1, 2, 3), (20, 30, 10), (1,)])
def test_that_a_session_gives_what_one_call_gives(values: tuple[int, ...], restart: bool) -> None:
    given = [pair for part in one_by_one(values, restart) for pair in part]
    assert given == [(m["one"], m["two"]) for m in QUERY.match(events(*values), engine="reference")]
    assert given == [(m["one"], m["two"]) for m in QUERY.match(events(*values))]


def test_that_events_wait_until_there_is_a_value() -> None:
    assert one_by_one((1, 2, 20, 30, 40)) == [[], [], [], [(None, None), (None, 10.0)], [(10.0, 15.0)], [(15.0, 20.0)]]


def test_that_other_types_are_refused() -> None:
    query = cep.Query(TEXT, functions={"half": lambda x: x if x < 10 else x / 4})
    session = query.session(lateness=0)
    session.push(events(1, 2, 3))
    session.push([{"ts": 3, "type": "A", "x": 21}])
    with pytest.raises(cep.EvaluationError, match="column 'y' was int64 in earlier composite events, and is double"):
        session.push([{"ts": 4, "type": "A", "x": 21}])
