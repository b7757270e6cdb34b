"""Many queries are the tagged union of single runs, in one go and in sessions in which rules come and go (S17, S23)."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cepheid as cep
from cepheid.api.many.by_definition import match_each, no_matches
from cepheid.api.many.many_matches import ManyMatches

TEMPLATES = {
    "pair": "PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) { [k = key] AND a.x > low } WITHIN span",
    "any": "PATTERN SEQ(A a, B+ b[]) WHERE [k = key] AND b[i].x >= low WITHIN span",
    "quiet": "PATTERN SEQ(A a, !(B b)) WHERE [k = key] WITHIN span",
    "before": "PATTERN SEQ(!(C c), A a) WHERE [k = key] AND c.x > low WITHIN span",
    "single": "PATTERN C c WHERE c.x >= low AND c.k = key",
    "runs": "PATTERN SEQ(A a, B+ b[]) WHERE partition_contiguity { [k] AND b[].x > low } "
    "WITHIN span OUTPUT NON_OVERLAP",
    "cesar": "CESAR SELECT[x > low](A) ;[k = key](B)",
    "own": "AUTOMATON q -> r ARC q -> q WHEN e.x < low ARC q -> r WHEN e.k = key WITHIN span",
}
EXAMPLES = max(1, settings.default.max_examples // 4)  # each is many runs
COLUMNS = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("k", pa.int64()), ("x", pa.int64())])


def rule(random: Random, number: int) -> dict[str, Any]:
    return {
        "id": f"u{number}",
        "template": random.choice(list(TEMPLATES)),
        "key": random.choice([0, 1, 2, None]),
        "low": random.randrange(4),
        "span": random.choice(["3 ms", "5 ms", "10 ms", "4 events"]),
    }


def event(random: Random) -> dict[str, Any]:
    kind, k, x = random.choice("ABC"), random.choice([0, 1, 2, None]), random.choice([0, 1, 2, 3, None])
    return {"ts": random.randrange(25), "type": kind, "k": k, "x": x}


def shown(rows: list[dict[str, Any]]) -> list[str]:
    return [repr(row) for row in rows]


def queries_of(rules: list[dict[str, Any]]) -> cep.Queries:
    """Absences need a time: a window of events is for the others."""
    timed = [
        {**one, "span": "4 ms"} if one["template"] in ("quiet", "before", "own") and "events" in one["span"] else one
        for one in rules
    ]
    return cep.Queries(TEMPLATES, timed)


@settings(max_examples=EXAMPLES)
@given(random=st.randoms(use_true_random=False), engine=st.sampled_from(["auto", "plain", "interpreted"]))
def test_the_union_of_single_runs(random: Random, engine: str) -> None:
    queries = queries_of([rule(random, number) for number in range(random.randrange(1, 7))])
    events = pa.Table.from_pylist([event(random) for _ in range(random.randrange(25))], COLUMNS)
    reference, found = queries.match(events, engine="reference"), queries.match(events, engine=engine)
    assert shown(found.to_pylist()) == shown(reference.to_pylist())
    for id in queries.ids.to_pylist():
        assert repr(found.of(id)) == repr(reference.of(id))


@settings(max_examples=EXAMPLES)
@given(random=st.randoms(use_true_random=False))
def test_sessions_in_which_rules_come_and_go(random: Random) -> None:
    queries = queries_of([rule(random, number) for number in range(random.randrange(5))])
    known = len(queries)
    coming = sorted((event(random) for _ in range(random.randrange(25))), key=lambda one: one["ts"])
    session = queries.session()
    session.push(COLUMNS.empty_table())
    taken: list[dict[str, Any]] = []
    found: list[dict[str, Any]] = []
    while coming:
        size = random.randrange(1, 6)
        batch, coming = coming[:size], coming[size:]
        random.shuffle(batch)
        taken += batch
        found += session.push(batch).to_pylist()
        at = random.choice([None, max(one["ts"] for one in taken) + random.randrange(3)])
        match random.randrange(6):
            case 0 if coming:
                found += session.advance(coming[0]["ts"]).to_pylist()
            case 1:
                more = queries_of([rule(random, known)])
                session.add(read_back(more), at=at)
                known += 1
            case 2 if known:
                remove(session, f"u{random.randrange(known)}", at)
            case 3:
                session = queries.restore(session.snapshot())
    found += session.close().to_pylist()
    events = pa.Table.from_pylist(taken, COLUMNS)
    single = match_each(session.rules, queries.options, events, session.lives)
    wanted = ManyMatches(session.rules, single, lambda t, n: no_matches(session.rules, queries.options, COLUMNS, t, n))
    assert sorted(shown(found)) == sorted(shown(wanted.to_pylist()))


def read_back(queries: cep.Queries) -> list[dict[str, Any]]:
    """The rules of queries, as they were written."""
    (own,) = queries.rules.rules
    template = queries.rules.templates[own.template]
    (values,) = own.values(template.parameters)
    names = dict.fromkeys(("key", "low", "span"))
    return [{"id": queries.ids[0].as_py(), "template": template.name, **names, **values}]


def remove(session: Any, id: str, at: int | None) -> None:
    """Remove a rule, unless it is over by then or has not begun."""
    with suppress(cep.PatternError):
        session.remove([id], at=at)


def test_add_then_remove_changes_nothing_for_others() -> None:
    rules = [{"id": f"u{k}", "template": "pair", "key": k % 3, "low": k % 4, "span": "5 ms"} for k in range(6)]
    events = [{"ts": t, "type": "AB"[t % 2], "k": t % 3, "x": t % 5} for t in range(20)]
    queries = cep.Queries(TEMPLATES, rules)
    session = queries.session(lateness=0)
    found = session.push(events[:8]).to_pylist()
    session.add([{**rules[0], "id": "new"}])
    session.remove(["new"])
    found += session.push(events[8:]).to_pylist() + session.close().to_pylist()
    assert found == queries.match(events, engine="reference").to_pylist()


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]])
def test_other_orders_of_rules(order: list[int]) -> None:
    rules = [{"id": f"u{k}", "template": name, "key": 1, "low": 0, "span": "5 ms"} for k, name in enumerate(TEMPLATES)]
    events = [{"ts": t // 2, "type": "ABC"[t % 3], "k": 1, "x": t % 3} for t in range(12)]
    queries = cep.Queries(TEMPLATES, [rules[k] for k in order])
    found = queries.match(events)
    assert found.to_pylist() == queries.match(events, engine="reference").to_pylist()
    for k in order:
        alone = cep.Queries(TEMPLATES, [rules[k]]).match(events)
        assert found.of(f"u{k}").to_pylist() == alone.of(f"u{k}").to_pylist()
