"""Texts with many skeletons, which are read by their conditions: as if each were alone, with its own errors (S23)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from rule_sets import heads

import cepheid as cep
from cepheid.api.many import framed_texts
from cepheid.api.many.options import SharedOptions
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.language.texts import frames, template

PAIR = "PATTERN SEQ(A a, B b) WHERE skip_till_next_match {{ {} }} WITHIN {} ms"
GOOD = {
    "u1": PAIR.format("a.x > 1 AND b.y = 2", 5),
    "u2": PAIR.format("a.x > 2", 5),
    "u3": PAIR.format("b.y = 2 AND a.x = 3", 6),
}
EVENTS = [
    {"ts": 1, "type": "A", "x": 3, "y": 1, "s": "a"},
    {"ts": 3, "type": "B", "x": 3, "y": 2, "s": "a"},
]  # fmt: skip
MORE = [{"ts": 8, "type": "A", "x": 3, "y": 1, "s": "a"}, {"ts": 9, "type": "B", "x": 3, "y": 2, "s": "a"}]


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framed_texts, "MANY_SKELETONS", 2)


def queries_of(texts: dict[str, str], **options: Any) -> cep.Queries:
    return cep.Queries(list(texts.values()), ids=list(texts), **options)


def test_one_template_for_a_frame() -> None:
    queries = queries_of({**GOOD, "other": "PATTERN C c WHERE c.x > 1"})
    assert [(one.texts, one.name) for one in queries.rules.templates] == [(True, "u1"), (False, "other")]
    assert heads(queries.match(EVENTS)) == [("u1", 1, 3), ("u2", 1, 3), ("u3", 1, 3)]
    told = str(queries.explain(EVENTS))
    assert "u1  " in told
    assert "3 rules  differ in conditions" in told
    assert "Shared tables: 4 rules" in told


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("CEP101", PAIR.format("a.x >> 1 AND b.y = 2", 5)),
        ("CEP202", PAIR.format("a.x > 1 AND c.y = 2", 5)),
        ("CEP216", PAIR.format("a.x > 1 AND b.y = 2", 0)),
        ("CEP301", PAIR.format("a.x > 1 AND b.zz = 2", 5)),
        ("CEP303", PAIR.format("foo(a.x) > 1", 5)),
        ("CEP304", PAIR.format("a.x > most", 5)),
        ("CEP305", PAIR.format("a.x > 1 AND b.s > 2", 5)),
        ("CEP305", PAIR.format("a.x > 1 AND b.y = 'q'", 5)),
    ],
)
def test_a_wrong_text_has_its_own_error(code: str, wrong: str) -> None:
    with pytest.raises(cep.CepheidError) as alone:
        cep.Query(wrong).match(EVENTS)
    texts = {**GOOD, "wrong": wrong, "again": wrong}
    with pytest.raises(cep.CepheidError, match="query 'wrong'") as caught:
        queries_of(texts).match(EVENTS)
    assert (caught.value.code, caught.value.span) == (code, alone.value.span)
    assert "^" in str(caught.value)
    queries = queries_of(texts, errors="collect")
    assert heads(queries.match(EVENTS)) == [("u1", 1, 3), ("u2", 1, 3), ("u3", 1, 3)]
    assert queries.errors.to_pylist() == [
        {"id": id, "code": code, "message": str(alone.value)} for id in ("wrong", "again")
    ]


def test_texts_that_are_no_times() -> None:
    def asked(time: str) -> str:
        return PAIR.format(f"a.t >= '{time}' AND b.y = 2", 5)

    texts = {**GOOD, "t1": asked("2024-01-01"), "bad": asked("soon"), "t2": asked("2024-01-02")}
    stamps = pa.array([1704067200, 1704067200], pa.timestamp("s"))
    events = pa.Table.from_pylist(EVENTS).append_column("t", stamps)
    queries = queries_of(texts, errors="collect")
    found = queries.match(events)
    assert [(row["id"], row["code"]) for row in queries.errors.to_pylist()] == [("bad", "CEP305")]
    assert found.to_pylist() == queries.match(events, engine="reference").to_pylist()


def test_no_events() -> None:
    assert queries_of(GOOD).match([]).to_pylist() == []
    assert queries_of(GOOD).match([]).of("u2").to_pylist() == []


def test_parameters_that_all_texts_share() -> None:
    texts = {"u1": PAIR.format("a.x > least AND b.y = 2", 5), "u2": PAIR.format("a.x > least", 5)}
    assert heads(queries_of(texts, params={"least": 2}).match(EVENTS)) == [("u1", 1, 3), ("u2", 1, 3)]
    assert heads(queries_of(texts, params={"least": 3}).match(EVENTS)) == []


def test_the_least_whole_numbers() -> None:
    least = -(2**63)
    texts = {"u1": PAIR.format(f"a.x >= {least + 1}", 5), "u2": PAIR.format("a.x > 1 AND b.y = 2", 5)}
    texts["u3"] = PAIR.format(f"a.x > {least + 1} AND b.y = 2", 5)
    events = [{"ts": t, "type": "AB"[t % 2], "x": x, "y": 2} for t, x in enumerate([least, 0, least + 1, 0, 0, 0])]
    queries = queries_of(texts)
    assert queries.match(events).to_pylist() == queries.match(events, engine="reference").to_pylist()


@pytest.mark.parametrize("least", [2, 64])
def test_restored_with_other_texts_those_that_are_the_same_go_on(least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    session = queries_of(GOOD).session()
    session.push(EVENTS[:1])
    blob = session.snapshot()
    monkeypatch.setattr(framed_texts, "MANY_SKELETONS", least)
    other = queries_of({**GOOD, "u2": PAIR.format("a.x > 1", 5), "u4": PAIR.format("a.x > 1 AND a.y > 0", 5)})
    restored = other.restore(blob, update=True)
    found = heads(restored.push(EVENTS[1:] + MORE)) + heads(restored.close())
    assert found == [("u1", 1, 3), ("u3", 1, 3), ("u1", 8, 9), ("u3", 8, 9), ("u2", 8, 9), ("u4", 8, 9)]


def test_removed_texts_leave_the_tables_with_their_conditions() -> None:
    session = queries_of(GOOD).session(lateness=0)
    session.push(EVENTS[:1])
    session.remove(["u1"])
    found = heads(session.push(EVENTS[1:]))
    session.add([PAIR.format("a.x > 1 AND b.y = 2", 5), PAIR.format("a.y = 1", 5)], ids=["u4", "u5"])
    found += heads(session.push(MORE)) + heads(session.close())
    assert found == [("u2", 1, 3), ("u3", 1, 3), ("u2", 8, 9), ("u3", 8, 9), ("u4", 8, 9), ("u5", 8, 9)]


def test_conditions_that_came_before_are_neither_parsed_nor_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    session = queries_of(GOOD).session(lateness=0)
    session.push(EVENTS)

    def never(*_: object) -> None:
        raise AssertionError

    for module, name in ((frames, "parse"), (SharedOptions, "compiled_program"), (CompiledQuery, "__init__")):
        monkeypatch.setattr(module, name, never)
    more = [PAIR.format("a.x > 2", 7), PAIR.format("a.x = 4 AND b.y = 2", 5), PAIR.format("b.y = 2", 5)]
    session.add(more, ids=["u5", "u4", "u6"])
    found = heads(session.push(MORE)) + heads(session.close())
    assert found[3:] == [(id, 8, 9) for id in ("u1", "u2", "u3", "u5", "u6")]


def test_few_skeletons_that_came_before_are_neither_parsed_nor_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framed_texts, "MANY_SKELETONS", 64)
    session = queries_of(GOOD, errors="collect").session(lateness=0)
    session.push(EVENTS)
    session.add([PAIR.format("a.s LIKE 'a%'", 5), PAIR.format("a.x = 'q'", 5)], ids=["like", "wrong"])

    def never(*_: object) -> None:
        raise AssertionError

    for module, name in ((template, "parse"), (SharedOptions, "compiled_program")):
        with monkeypatch.context() as patched:
            patched.setattr(module, name, never)
            session.add(
                [PAIR.format("a.x > 7", 7), PAIR.format("b.y = 2 AND a.x = 3", 5)], ids=[f"{name}1", f"{name}2"]
            )
    session.add([PAIR.format("a.s LIKE 'b%'", 5), PAIR.format("a.x = 'r'", 5)], ids=["unlike", "wrong too"])
    assert [row["id"] for row in session.errors.to_pylist()] == ["wrong", "wrong too"]
    found = heads(session.push(MORE)) + heads(session.close())
    assert [id for id, start, _ in found if start == 8] == ["u1", "u2", "u3", "like", "parse2", "compiled_program2"]


def test_wrong_texts_among_those_whose_conditions_are_known() -> None:
    queries = queries_of(GOOD, errors="collect")
    session = queries.session(lateness=0)
    session.push(EVENTS)
    texts = [
        PAIR.format(*one) for one in (("a.x > 2", 0), ("a.x > 'q'", 5), ("a.x > 2 AND b.zz = 1", 5), ("a.x > 7", 5))
    ]
    for ids in (["w1", "w2", "w3", "right"], ["w4", "w5", "w6", "right too"]):
        session.add(texts, ids=ids)
    told = [(row["id"], row["code"]) for row in session.errors.to_pylist()]
    codes = ["CEP216", "CEP305", "CEP301"]
    assert told == list(zip(["w1", "w2", "w3", "w4", "w5", "w6"], codes * 2, strict=True))
    session.push([{"ts": 20, "type": "A", "x": 8}, {"ts": 21, "type": "B", "y": 0}])
    assert [row["query"] for row in session.close().to_pylist()] == ["u2", "right", "right too"]


def test_a_text_that_is_no_time_after_those_that_are() -> None:
    stamps = pa.array([1704067200, 1704067200], pa.timestamp("s"))
    queries = queries_of({"t1": PAIR.format("a.t >= '2024-01-01'", 5), **GOOD}, errors="collect")
    session = queries.session(lateness=0)
    session.push(pa.Table.from_pylist(EVENTS).append_column("t", stamps))
    session.add(
        [PAIR.format(f"a.t >= '{time}'", 5) for time in ("2024-01-02", "soon")] + [GOOD["u1"]], ids=["t2", "t3", "u4"]
    )
    assert [(row["id"], row["code"]) for row in session.errors.to_pylist()] == [("t3", "CEP305")]
