"""Arcs that differ only in numbers: what one of them is bound as, the others are with their own numbers."""

import pytest

import cepheid as cep
from cepheid.engine.planning.lifetimes import TimedArcs
from cepheid.front.automata.arc_forms import form_of, marked
from cepheid.pattern.binding.schema import make_schema

QUERY = cep.Query("AUTOMATON a -> b REGISTER x DOUBLE = 0.0, n INT = 0 ARC a -> b", type=None)
EVENTS = [{"ts": t, "v": t % 5, "f": t / 4, "s": "p" if t % 2 else "q"} for t in range(20)]

ASKED = [
    ("e.v > {}", {}),
    ("e.f > {} AND e.v <> 3", {}),
    ("NOT (e.v - {} < 1 OR e.f < 0.5)", {"n": "r.n + {}"}),
    ("e.v > -{}", {"x": "{}"}),
    ("e.f BETWEEN 0 AND {}", {"x": "e.f * {} + 1.5", "n": "{}"}),
    ("e.v IN (1, {})", {}),
    ("e.v > {} AND e.s = 'p'", {"x": "abs(e.f - {})"}),
]


@pytest.mark.parametrize(("condition", "assigns"), ASKED)
def test_that_a_long_log_is_read_as_its_changes_are(condition: str, assigns: dict[str, str]) -> None:
    log = [
        cep.add_arc(
            "a", "b", condition.format(k % 4), at=k, until=k + 2, set={f: v.format(k) for f, v in assigns.items()}
        )
        for k in range(12)
    ]
    wanted = QUERY.match(EVENTS, changes=log, engine="reference").to_pylist()
    for engine in ("plain", "interpreted"):
        assert QUERY.match(EVENTS, changes=log, engine=engine).to_pylist() == wanted


def test_that_one_arc_is_bound_for_all_of_a_form() -> None:
    log = [cep.add_arc("a", "b", f"e.v > {k} AND e.f < {k}.5", at=k, set={"x": f"{k}"}) for k in range(50)]
    schema = make_schema(QUERY._table_of(EVENTS).schema, QUERY.compiled.roles)
    found = QUERY.with_log(log, schema)
    assert len(found.compiled.queries[0].query.pattern.arcs) == 2  # type: ignore[union-attr]
    timed = found._cache.query(0, schema).query.body
    assert isinstance(timed.arcs, TimedArcs)
    (*expected, rest) = QUERY.changed(log, schema)._cache.query(0, schema).query.body.arcs  # type: ignore[union-attr]
    assert list(timed.arcs) == expected
    assert (rest.source, rest.target) == ("b", "b")  # never taken: sessions keep what is in a state by it


def test_that_forms_differ_where_more_than_numbers_does() -> None:
    one = form_of(cep.add_arc("a", "b", "e.v > 1").arc)
    assert one.numbers == (1,)
    assert form_of(cep.add_arc("a", "b", "e.v > 7").arc).key == one.key
    for other in ("e.v > 1.5", "e.v >= 1", "e.f > 1", "e.v > n", "e.v > 1 AND e.v > 1"):
        assert form_of(cep.add_arc("a", "b", other).arc).key != one.key
    arc, marks = marked(cep.add_arc("a", "b", "e.v > 1 AND substring(e.s, 1, 2) = 'p'").arc)
    assert form_of(arc).numbers == marks
    assert len(marks) == 1
