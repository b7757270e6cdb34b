"""More matches than a machine can hold: counted exactly, given in part, or refused with their number."""

from itertools import islice

import pytest

import cepheid as cep

EVENTS = [{"ts": t, "type": "B", "x": t} for t in range(400)]
ALL = "PATTERN SEQ(A a, B+ b[], C c) WITHIN 1 hour"
MANY = [{"ts": -1, "type": "A", "x": 0}, *EVENTS, {"ts": 400, "type": "C", "x": 0}]


@pytest.mark.parametrize("engine", ["plain", "compiled"])
def test_a_count_is_exact_whatever_its_size(engine: str) -> None:
    assert cep.Query(ALL).match(MANY, engine=engine).count() == 2**400 - 1


def test_a_count_is_of_what_is_in_the_window() -> None:
    query = cep.Query("PATTERN SEQ(A a, B+ b[], C c) WITHIN 100 events")
    events = [{"ts": t, "type": "AB"[t % 2]} for t in range(300)] + [{"ts": 300, "type": "C"}]
    # Position 300 is the end: the first that may begin is 201, and As are at even positions.
    expected = sum(2 ** ((300 - a) // 2) - 1 for a in range(202, 300, 2))
    assert query.match(events).count() == expected


@pytest.mark.parametrize("engine", ["plain", "compiled"])
def test_some_of_too_many(engine: str) -> None:
    query = cep.Query(ALL)
    assert len(query.match(MANY, engine=engine, limit=3)) == 3
    matches = query.match(MANY, engine=engine)
    assert len(list(islice(iter(matches), 5))) == 5
    assert repr(matches).startswith(f"<{2**400 - 1:,} matches")


def test_too_many_are_refused_with_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cepheid.engine.matches.graph_matches.MOST", 1000)
    with pytest.raises(cep.EvaluationError) as error:
        len(cep.Query(ALL).match(MANY))
    assert error.value.code == "CEP505"
    assert error.value.message == "about 10^120 matches are too many to enumerate"


def test_a_session_with_too_many() -> None:
    session = cep.Query(ALL).session()
    session.push(MANY)
    matches = session.advance(500)
    assert matches.count() == 2**400 - 1
    assert len(matches.head(2)) == 2
