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


MERGED = (
    "PATTERN A a RETURN f(a.x) AS y INTO M; FROM s, M PATTERN SEQ(M m, A a) WHERE m.y > 5 RETURN m.y AS y, a.x AS x"
)


def whole(x: int) -> int:
    return x


def widened(x: int) -> float | None:
    return None if x < 3 else x  # type: ignore[return-value] # an integer, where a float is declared


def declares_a_number(x: int) -> float:
    return "many"  # type: ignore[return-value]


@pytest.mark.parametrize(("function", "value"), [(whole, 20), (widened, 20.0)])
@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_that_several_streams_use_the_declared_type(function: object, value: float, engine: str) -> None:
    query = cep.Query(MERGED, functions={"f": function})
    found = query.match(events(1, 20, 3), engine=engine).to_arrow()
    assert found.to_pylist() == [{"match_start": 1, "match_end": 2, "y": value, "x": 3}]
    assert isinstance(found["y"][0].as_py(), type(value))
    session = query.session(lateness=0)
    given = [m for event in events(1, 20, 3) for m in session.push([event])]
    assert [(m["y"], m["x"]) for m in [*given, *session.close()]] == [(value, 3)]


def test_that_an_own_aggregate_may_declare_its_type() -> None:
    text = MERGED.replace("A a RETURN f(a.x)", "A{1} a[] RETURN f(a[].x)")
    total = cep.Aggregate(start=0, step=lambda state, value: state + value, returns=int)
    found = cep.Query(text, functions={"f": total}).match(events(1, 20, 3))
    assert [(m["y"], m["x"]) for m in found] == [(20, 3)]


def test_that_several_streams_need_a_declared_type() -> None:
    with pytest.raises(cep.BindError) as caught:
        cep.Query(MERGED, functions={"f": lambda x: x}).match(events(1, 20, 3))
    assert (caught.value.code, caught.value.column) == ("CEP314", 20)
    assert caught.value.remedy == "annotate it: def f(…) -> float; or write CAST(… AS double) AS y"


def test_that_a_function_must_return_what_it_declares() -> None:
    with pytest.raises(cep.EvaluationError) as caught:
        cep.Query(MERGED, functions={"f": declares_a_number}).match(events(1, 20, 3))
    assert caught.value.code == "CEP502"
    assert caught.value.message == "column 'y' is string, but the function that gives it declares double"
