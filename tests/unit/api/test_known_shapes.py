"""Changes that are data which the code reads (S17): nothing is made anew, and what is given is the same."""

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

import cepheid as cep
from cepheid.engine.stream import speculation
from cepheid.testing.outcomes import to_json

TEXT = """
    AUTOMATON a -> c, d
    REGISTER n INT = 0, s STRING = 'x'
    ARC up:  a -> b WHEN e.x > 2 SET n = 1
    ARC go:  b -> b WHEN e.x > 1 AND e.s = 'p' SET n = r.n + 1
    ARC fin: b -> c WHEN e.x < 3 AND r.n < 4 SET s = 'k', n = r.n + 5
    EPSILON  b -> d WHEN r.n > 1
    {end}
    WITHIN 6
"""
ENDS = ("", "ARC b -> c AT END WHEN r.n > 2")


def another(name: str, chance: random.Random) -> Any:
    """An arc of a known shape with constants of its own."""
    x = chance.randint(0, 4)
    if name == "up":
        return cep.add_arc("a", "b", f"e.x > {x}", name=name, n=str(chance.randint(0, 2)))
    if name == "go":
        condition = f"e.x > {x} AND e.s = '{chance.choice('pq')}'"
        return cep.add_arc("b", "b", condition, name=name, n=f"r.n + {chance.randint(1, 2)}")
    condition = f"e.x < {x} AND r.n < {chance.randint(2, 9)}"
    return cep.add_arc("b", "c", condition, name=name, s=f"'{chance.choice('kl')}'", n=f"r.n + {chance.randint(3, 5)}")


def rows(matches: Any) -> Counter[str]:
    return Counter(map(to_json, matches.to_pylist()))


@pytest.mark.parametrize("speculate", [None, "all", 3])
@pytest.mark.parametrize("seed", range(4))
def test_that_a_session_gives_what_its_log_says(speculate: Any, seed: int) -> None:
    chance = random.Random(seed)
    events = [{"ts": t + chance.randint(0, 1), "x": chance.randint(0, 5), "s": chance.choice("pq")} for t in range(30)]
    lateness = chance.choice([0, 3, 6])
    query = cep.Query(TEXT.format(end=chance.choice(ENDS)), type=None)
    session: Any = query.session(lateness=lateness, speculate=speculate, engine="plain")
    stands: Counter[str] = Counter()

    def note(given: Any) -> None:
        stands.update(rows(given if speculate is None else given.added))
        if speculate is not None:
            stands.subtract(rows(given.removed))

    order = sorted(range(30), key=lambda k: int(events[k]["ts"]) + chance.randint(0, lateness))
    for call in range(0, 30, 2):
        came = [events[k] for k in order[: call + 2]]
        note(session.push(came[-2:]))
        latest = max(int(event["ts"]) for event in came)
        for _ in range(2):
            name, at = chance.choice(["up", "go", "fin"]), chance.choice([None, latest - chance.randint(0, lateness)])
            added = replace(another(name, chance), at=at, until=chance.choice([None, latest + 3]))
            changes = chance.choice([[cep.remove_arc(name, at=at), added], [cep.remove_arc(name, at=at)], [added]])
            try:
                note(session.change(*changes))
            except cep.CepheidError as error:
                if error.code not in ("CEP228", "CEP608"):
                    raise
        if speculate == "all":
            assert +stands == rows(query.match(came, engine="reference", changes=session.changes))
    log = session.changes
    note(session.close())
    assert +stands == rows(query.match(events, engine="reference", changes=log))


@pytest.mark.parametrize("options", [{}, {"speculate": "all"}])
def test_an_arc_of_a_known_shape_makes_nothing_anew(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    query = cep.Query(TEXT.format(end=""), type=None)
    session = query.session(lateness=0, engine="plain", **options)

    def change(t: int) -> None:
        session.push([{"ts": t, "x": 3, "s": "p"}])
        with session.changing() as change:
            change.remove_arc("up")
            change.add_arc("a", "b", f"e.x > {t}", name="up", n="1")

    change(1)  # from now on, a column has the constant

    def refuse(*_: Any) -> Any:
        raise AssertionError("the query is read anew")

    monkeypatch.setattr(cep.Query, "changed", refuse)
    for t in range(2, 30):
        change(t)
    assert len(session.changes) == 58


def test_an_arc_can_be_removed_before_it_comes() -> None:
    query = cep.Query("AUTOMATON a -> b ARC up: a -> b WHEN e.x > 5", type=None)
    log = [
        cep.remove_arc("up", at=2),
        cep.add_arc("a", "b", "e.x > 1", name="up", at=9),
        cep.remove_arc("up", at=5),
        cep.add_arc("a", "b", "e.x > 3", name="up", at=6),
    ]
    events = [{"ts": t, "x": 4 + t % 3} for t in range(12)]
    for engine in ("reference", "interpreted", "plain"):
        found = [m["match_end"] for m in query.match(events, engine=engine, changes=log)]
        assert found == [2, 7, 8, 9, 10, 11]


def test_more_arcs_come_and_go_than_a_word_has_bits() -> None:
    arcs = "\n".join(f"ARC a{k}: a -> q{k} WHEN e.x = {k} ARC q{k} -> b WHEN e.y < {k}" for k in range(70))
    query = cep.Query(f"AUTOMATON a -> b {arcs} WITHIN 3 events", type=None)
    log = [cep.remove_arc(f"a{k}", at=t) for t, k in enumerate([3, 61, 62, 63, 69, 0], start=20)]
    log.append(cep.add_arc("a", "q62", "e.x = 62", at=60, until=90, name="a62"))
    events = [{"ts": t, "x": [3, 61, 62, 63, 69, 0, 7][t % 7], "y": t % 11} for t in range(120)]
    wanted = rows(query.match(events, engine="reference", changes=log))
    assert rows(query.match(events, engine="plain", changes=log)) == wanted
    session = query.session(lateness=0, engine="plain")
    found = rows(session.push(events[:15]))
    session.change(*log)
    assert found + rows(session.push(events[15:])) + rows(session.close()) == wanted


@pytest.mark.parametrize("options", [{}, {"speculate": "all"}])
def test_a_session_does_not_grow_with_its_changes(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of arcs that are over, one of each shape is kept."""
    monkeypatch.setattr(speculation, "FEW_EVENTS", 16)
    monkeypatch.setattr(speculation, "BYTES_PER_EVENT", 2**20)
    query = cep.Query("AUTOMATON a -> c ARC a -> b WHEN e.x = 1 ARC done: b -> c WHEN e.x = 3", type=None)
    session: Any = query.session(lateness=2, **options)
    for t in range(0, 600, 3):
        session.push([{"ts": t + k, "x": k + 1} for k in range(3)])
        session.change(cep.remove_arc("done"), cep.add_arc("b", "c", f"e.x = {3 + t % 2}", name="done"))
    assert len(session.changes) == 400
    pipeline = session.engine.pipeline
    arcs = pipeline.cache.query(0, pipeline.schema).query.body.arcs
    assert len(arcs) < 40
    assert [arc.until for arc in arcs if arc.name == "done"][-1] is None
