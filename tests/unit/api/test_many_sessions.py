"""Sessions of many queries: rules that come and go, refusals, snapshots (S17, S23)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep

PAIR = "PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) { [k = key] } WITHIN span"
QUIET = "PATTERN SEQ(A a, !(B b)) WHERE a.k = key WITHIN span"
RULES = [{"id": "one", "key": 1, "span": 10}, {"id": "two", "key": 2, "span": 10}]


def event(ts: int, kind: str, k: int = 1) -> dict[str, Any]:
    return {"ts": ts, "type": kind, "k": k}


def ends(matches: cep.ManyMatches) -> list[tuple[object, int, int]]:
    return [(m["query"], m["match_start"], m["match_end"]) for m in matches]


def test_batches_do_not_matter() -> None:
    events = [event(t, kind, k) for t, kind, k in [(1, "A", 1), (2, "A", 2), (3, "B", 2), (3, "B", 1), (5, "B", 1)]]
    queries = cep.Queries(PAIR, RULES)
    whole = ends(queries.match(events))
    assert whole == [("one", 1, 3), ("two", 2, 3)]
    s = queries.session(lateness=1)
    assert [found for one in events for found in ends(s.push([one]))] + ends(s.close()) == whole
    assert repr(s) == "<Session of 2 queries: closed, 5 events, 2 matches, watermark 4>"


def test_added_rules_see_what_comes_after() -> None:
    s = cep.Queries(PAIR, RULES).session()
    s.push([event(1, "A"), event(2, "A")])
    s.add([{"id": "now", "key": 1, "span": 10}])
    s.add([{"id": "then", "key": 1, "span": 10}], at=4)
    s.push([event(2, "A"), event(3, "A"), event(4, "A"), event(5, "A"), event(6, "B")])
    assert ends(s.advance(100)) == [
        *(("one", t, 6) for t in (1, 2, 2, 3, 4, 5)),
        *(("now", t, 6) for t in (3, 4, 5)),
        ("then", 5, 6),
    ]


def test_removed_rules_give_what_ends_by_then() -> None:
    s = cep.Queries(PAIR, RULES).session()
    s.push([event(1, "A"), event(1, "A", 2)])
    s.remove(["one"], at=3)
    s.remove("two")
    s.push([event(3, "B"), event(3, "B", 2), event(4, "A"), event(5, "B")])
    assert s.stats.queries == 2
    assert ends(s.advance(100)) == [("one", 1, 3)]
    assert s.stats.queries == 0
    assert (s.stats.events, s.stats.matches) == (6, 1)


def test_absences_count_that_were_decided_by_then() -> None:
    """WITHIN 10: the absence after 1 is decided at 11, and that after 5 at 15."""
    s = cep.Queries(QUIET, RULES).session()
    s.push([event(1, "A"), event(5, "A")])
    s.remove(["one"], at=11)
    assert ends(s.close()) == [("one", 1, 1)]


def test_a_rule_gets_other_values() -> None:
    s = cep.Queries(PAIR, RULES).session()
    s.push([event(1, "A"), event(1, "A", 2)])
    s.remove(["one"])
    s.add([{"id": "one", "key": 2, "span": 10}])
    s.push([event(2, "A"), event(3, "A", 2), event(4, "B"), event(4, "B", 2)])
    found = s.close()
    assert ends(found) == [("two", 1, 4), ("two", 3, 4), ("one", 3, 4)]
    assert found.of("one").to_pylist()[0]["match_start"] == 3


def test_refused_changes_alter_nothing() -> None:
    s = cep.Queries(PAIR, RULES).session()
    s.push([event(1, "A"), event(7, "A")])
    s.advance(5)
    for at, message in ((4, "before the watermark 5"), (6, "before events that have come")):
        with pytest.raises(cep.UsageError, match=message) as caught:
            s.add([{"id": "new", "key": 1, "span": 10}], at=at)
        assert caught.value.code == "CEP608"
        with pytest.raises(cep.UsageError, match=message):
            s.remove(["one"], at=at)
    with pytest.raises(cep.InputError, match="rule 'two': its id is there already"):
        s.add([{"id": "new", "key": 1, "span": 10}, {"id": "two", "key": 1, "span": 10}])
    with pytest.raises(cep.BindError, match="rule 'new': column 'span'"):
        s.add([{"id": "more", "key": 1, "span": "1 s"}, {"id": "new", "key": 1, "span": "x"}])
    with pytest.raises(cep.BindError, match="rule 'new': the rules have no column 'span'"):
        s.add([{"id": "new", "key": 1}])
    with pytest.raises(cep.UsageError, match="the ids are int64"):
        s.add([{"id": 3, "key": 1, "span": 1}])
    with pytest.raises(cep.BindError, match="rule 'new': "):
        s.add([{"id": "new", "key": "text", "span": 1}])
    with pytest.raises(cep.PatternError, match="there is no rule 'onE'"):
        s.remove(["two", "onE"])
    s.remove(["one"], at=7)
    with pytest.raises(cep.PatternError, match="the rule 'one' is over at that time"):
        s.remove(["two", "one"], at=8)
    s.add([{"id": "late", "key": 1, "span": 10}], at=9)
    with pytest.raises(cep.PatternError, match="the rule 'late' begins after that time"):
        s.remove(["late"], at=8)
    s.push([event(8, "A"), event(9, "B", 2), event(10, "A"), event(11, "B")])
    assert ends(s.close()) == [("late", 10, 11)]


def test_rules_before_the_first_event() -> None:
    s = cep.Queries(PAIR, []).session()
    with pytest.raises(cep.UsageError, match="before the first push"):
        s.add(RULES, at=3)
    s.add(RULES)
    s.remove(["two"])
    assert ends(s.push([event(1, "A"), event(2, "B"), event(1, "A", 2), event(2, "B", 2)])) == []
    assert ends(s.close()) == [("one", 1, 2)]


def test_collected_errors() -> None:
    queries = cep.Queries(PAIR, [*RULES, {"id": "bad", "key": 1, "span": -1}], errors="collect")
    s = queries.session()
    s.push([event(1, "A")])
    s.add([{"id": "two", "key": 1, "span": 1}, {"id": "new", "key": 1, "span": 5}, {"id": "null", "key": 1}])
    assert s.errors.select(["id", "code"]).to_pylist() == [
        {"id": "bad", "code": "CEP216"},
        {"id": "two", "code": "CEP616"},
        {"id": "null", "code": "CEP216"},
    ]
    s.push([event(2, "A"), event(3, "B")])
    assert ends(s.close()) == [("one", 1, 3), ("one", 2, 3), ("new", 2, 3)]
    assert queries.errors.num_rows == 1


def test_more_queries_of_a_list() -> None:
    s = cep.Queries(["PATTERN A a", "PATTERN B b"]).session()
    s.push([event(1, "A")])
    s.add(["PATTERN A a WHERE a.k = 1"])
    s.add(["PATTERN B b WHERE b.k = 1"], ids=[7])
    s = cep.Queries(["PATTERN A a", "PATTERN B b"]).restore(s.snapshot())
    s.push([event(2, "A"), event(3, "B")])
    assert ends(s.close()) == [(0, 1, 1), (0, 2, 2), (2, 2, 2), (1, 3, 3), (7, 3, 3)]
    named = cep.Queries(["PATTERN A a"], ids=["x"]).session()
    with pytest.raises(cep.UsageError, match="the queries have no ids"):
        named.add(["PATTERN B b"])


def test_snapshots() -> None:
    queries = cep.Queries({"pair": PAIR, "quiet": QUIET}, [{**rule, "template": "pair"} for rule in RULES])
    s = queries.session(late="collect")
    s.push([event(1, "A"), event(1, "A", 2), event(8, "A")])
    s.advance(5)
    s.push([event(2, "B")])
    s.add([{"id": "quiet", "template": "quiet", "key": 1, "span": 4}])
    s.remove(["two"], at=9)
    s = queries.restore(s.snapshot())
    assert s.late_events.to_pylist() == [event(2, "B")]
    s.push([event(9, "A"), event(9, "B", 2), event(10, "B"), event(14, "A")])
    assert ends(s.advance(30)) == [("two", 1, 9), ("one", 1, 10), ("one", 8, 10), ("one", 9, 10), ("quiet", 14, 14)]
    blob = s.snapshot()
    with pytest.raises(cep.UsageError, match="CEP607"):
        cep.Queries(PAIR, RULES, unit="s").restore(blob)
    with pytest.raises(cep.UsageError, match="CEP607"):
        queries.restore(cep.Query("PATTERN A a").session().snapshot())


def test_a_snapshot_goes_on_with_other_rules() -> None:
    s = cep.Queries(PAIR, [*RULES, {"id": "gone", "key": 1, "span": 10}]).session()
    s.push([event(1, "A"), event(1, "A", 2)])
    changed = [{"id": "new", "key": 1, "span": 10}, {"id": "two", "key": 2, "span": 9}, RULES[0]]
    queries = cep.Queries(PAIR, changed)
    s = queries.restore(s.snapshot(), update=True)
    s.push([event(2, "A"), event(2, "A", 2), event(3, "B"), event(3, "B", 2)])
    assert ends(s.close()) == [("one", 1, 3), ("one", 2, 3), ("new", 2, 3), ("two", 2, 3)]
    same = cep.Queries(["PATTERN A a WHERE a.k = 1", "PATTERN A a WHERE a.k = 2"], ids=["x", "y"])
    s = same.session(lateness=0)
    s.push([event(1, "A"), event(1, "A", 2)])
    s = cep.Queries(["PATTERN A a WHERE a.k = 2"], ids=["y"]).restore(s.snapshot(), update=True)
    assert repr(s) == "<Session of 2 queries: open, 2 events, 0 matches, watermark 1>"
    assert ends(s.close()) == [("x", 1, 1), ("y", 1, 1)]


def test_wrong_use() -> None:
    queries = cep.Queries(PAIR, RULES)
    with pytest.raises(cep.UsageError, match="CEP601"):
        queries.session(late="never")
    with pytest.raises(cep.UsageError, match="CEP601"):
        queries.session(engine="reference")
    s = queries.session()
    with pytest.raises(cep.UsageError, match="before the first push"):
        s.advance(3)
    s.push([event(1, "A")])
    s.advance(5)
    with pytest.raises(cep.UsageError, match="before the current one"):
        s.advance(4)
    with pytest.raises(cep.InputError, match="CEP408"):
        s.push([event(1, "A")])
    with pytest.raises(cep.InputError, match="CEP409"):
        s.push(pa.table({"ts": [6], "type": ["A"]}))
    with pytest.raises(cep.InputError, match="CEP409"):
        s.push([{**event(6, "A"), "k": "text"}])
    s.close()
    with pytest.raises(cep.UsageError, match="the session is closed"):
        s.push([event(7, "A")])
