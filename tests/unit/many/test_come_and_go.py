"""Rules that come and go while others run (S17, S23)."""

import pytest
from rule_sets import PAIR, heads, quotes

import cepheid as cep
from cepheid.engine.many.tables import renewal, shared

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")


def test_a_rule_added_at_a_tie_sees_none_of_its_events() -> None:
    """At t is after all events of t, those that are still to come too."""
    session = cep.Queries(PAIR, [{"id": "old", "low": 0}]).session()
    session.push(quotes((1, "X", 1), (5, "X", 2)))
    session.add([{"id": "new", "low": 0}], at=5)
    session.push(quotes((5, "Y", 3), (6, "X", 4), (7, "X", 5)))
    found = heads(session.close())
    assert [head for head in found if head[0] == "new"] == [("new", 6, 7)]
    assert [head for head in found if head[0] == "old"] == [("old", 1, 5), ("old", 5, 5), ("old", 5, 6), ("old", 6, 7)]


def test_a_rule_removed_at_a_tie_sees_all_of_its_events() -> None:
    session = cep.Queries(PAIR, [{"id": "old", "low": 0}, {"id": "other", "low": 0}]).session()
    session.push(quotes((1, "X", 1), (5, "X", 2)))
    session.remove(["old"], at=5)
    session.push(quotes((5, "Y", 3), (6, "X", 4)))
    found = heads(session.close())
    assert [head for head in found if head[0] == "old"] == [("old", 1, 5), ("old", 5, 5)]
    assert [head for head in found if head[0] == "other"] == [("other", 1, 5), ("other", 5, 5), ("other", 5, 6)]


def test_by_default_a_change_is_after_what_came() -> None:
    session = cep.Queries(PAIR, [{"id": "old", "low": 0}]).session()
    session.push(quotes((1, "X", 1), (5, "X", 2)))
    session.add([{"id": "new", "low": 0}])
    session.remove(["old"])
    session.push(quotes((6, "X", 4), (7, "X", 5)))
    assert heads(session.close()) == [("old", 1, 5), ("new", 6, 7)]


def test_a_rule_added_shares_the_state_of_none() -> None:
    """An equal rule has a run that began before; the new one has not."""
    session = cep.Queries(PAIR, [{"id": 1, "low": 0}]).session(lateness=0)
    session.push(quotes((1, "X", 1)))
    session.add([{"id": 2, "low": 0}], at=1)
    given = heads(session.push(quotes((2, "X", 2)))) + heads(session.push(quotes((3, "X", 2)))) + heads(session.close())
    assert given == [(1, 1, 2), (1, 2, 3), (2, 2, 3)]


def test_an_absence_that_was_not_decided_when_its_rule_went() -> None:
    """S17.2, S10: removed at u it gives matches whose absences were decided by u."""
    text = "PATTERN SEQ(Stock a, !(Stock b)) WHERE a.price > low AND b.price < 0 WITHIN 10"
    session = cep.Queries(text, [{"id": name, "low": 0} for name in ("gone", "stays", "late")]).session(lateness=0)
    session.push(quotes((1, "X", 1), (5, "X", 2)))
    session.remove(["gone"], at=11)
    session.remove(["late"], at=10)
    given = heads(session.push(quotes((12, "X", 0), (40, "X", 0)))) + heads(session.close())
    assert sorted(given) == [("gone", 1, 1), ("stays", 1, 1), ("stays", 5, 5)]


def test_a_refused_change_alters_nothing() -> None:
    session = cep.Queries(PAIR, [{"id": "old", "low": 0}]).session(lateness=0)
    session.push(quotes((1, "X", 1), (5, "X", 2)))
    with pytest.raises(cep.CepheidError):
        session.add([{"id": "new", "low": 0}, {"id": "old", "low": 3}], at=5)  # one of them is there
    with pytest.raises(cep.CepheidError):
        session.add([{"id": "early", "low": 0}], at=2)  # before the watermark
    with pytest.raises(cep.CepheidError):
        session.remove(["old", "unknown"], at=5)
    session.push(quotes((6, "X", 4)))
    found = heads(session.close())
    assert {head[0] for head in found} <= {"old"}


def test_a_session_goes_on_where_there_is_no_room_for_new_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(shared, "SOME_RULES", 1)
    monkeypatch.setattr(renewal, "place", no_room)
    session = cep.Queries("PATTERN A a WHERE a.x = p", [{"id": k, "p": k} for k in range(20)]).session(lateness=0)
    session.push([{"ts": 1, "type": "A", "x": 3}])
    session.remove(range(15), at=1)
    found = [session.push([{"ts": ts, "type": "A", "x": 19}]) for ts in range(2, 40)]
    assert sum(map(len, [*found, session.close()])) == 39
