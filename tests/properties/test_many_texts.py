"""Texts that are read by their conditions are the tagged union of single runs, in one go and in sessions (S17, S23)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cepheid as cep
from cepheid.api.many import framed_texts
from cepheid.api.many.by_definition import match_each, no_matches
from cepheid.api.many.many_matches import ManyMatches

EXAMPLES = max(1, settings.default.max_examples // 4)  # each is many runs
COLUMNS = pa.schema(
    [("ts", pa.int64()), ("type", pa.string()), ("k", pa.int64()), ("x", pa.float64()), ("s", pa.string())]
)
pytestmark = pytest.mark.filterwarnings("ignore::cepheid.errors.CepheidWarning")  # contradictions, at random
FRAMES = {
    "PATTERN SEQ(A a, B b) WHERE {} WITHIN {} ms": ("a.", "b."),
    "PATTERN SEQ(A a, B b) WHERE skip_till_next_match {{ {} }} WITHIN {} ms": ("a.", "b."),
    "PATTERN SEQ(A a, ANY(B, C) b, A c) WHERE skip_till_next_match {{ {} }} WITHIN {} ms": ("a.", "b.", "c."),
    "PATTERN SEQ(A a, B b) WHERE partition_contiguity {{ [k] AND {} }} WITHIN {} ms": ("a.", "b."),
    "PATTERN SEQ(A a, B+ b[]) WHERE {} AND b[].x > 0 WITHIN {} ms": ("a.",),
    "PATTERN SEQ(A a, !(C c), B b) WHERE {} WITHIN {} ms": ("a.", "b.", "c."),
    "PATTERN SEQ(A a, B b) WHERE {} WITHIN {} ms RETURN a.k + 1 AS next, b.x AS x": ("a.", "b."),
    "CESAR SELECT[{}](A) ;[DUR <= {}] B": ("",),
    "CESAR LET S1 := A LET S2 := B LET S3 := A "
    "SELECT[S3.k >= 0](SELECT[S2.k < 2](SELECT[{}](S1) ;[S2.k = 1 AND DUR <= {}] S2) ;[S3.x < 2 AND DUR < 9] S3)": (
        "S1.",
    ),
}
CONDITIONS = (
    "{}k = {}", "{}k > {}", "{}x < {}", "{}x >= {}.5", "{}k <> {}", "{}s = '{}'", "{}s LIKE '{}%'",
    "{}k BETWEEN {} AND 2", "({0}k = {1} OR {0}x > 1)", "{}k IN ({}, 3)", "{}k + {} > 2", "{}k = {}.0", "{}k > -{}",
)  # fmt: skip


def condition(random: Random, names: tuple[str, ...]) -> str:
    if len(names) > 1 and random.random() < 0.15:
        return random.choice(["a.k = b.k", "a.x < b.x + 1", "[k]"])
    return random.choice(CONDITIONS).format(random.choice(names), random.randrange(3))


def text(random: Random, frame: str) -> str:
    names = FRAMES[frame]
    found = " AND ".join(condition(random, names) for _ in range(random.randrange(1, 4)))
    return frame.format(found, random.choice([3, 5, 10]))


def texts(random: Random, most: int) -> list[str]:
    frames = random.sample(list(FRAMES), random.randrange(1, 3))
    return [text(random, random.choice(frames)) for _ in range(random.randrange(2, most))]


def event(random: Random) -> dict[str, Any]:
    kind, k, x = random.choice("AABBC"), random.choice([0, 1, 2, None]), random.choice([0.0, 0.5, 1.0, 2.5, None])
    return {"ts": random.randrange(25), "type": kind, "k": k, "x": x, "s": random.choice(["0", "1", "12", None])}


def table(random: Random, most: int = 30) -> pa.Table:
    return pa.Table.from_pylist([event(random) for _ in range(random.randrange(most))], COLUMNS)


@contextmanager
def by_conditions(least: int = 2) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(framed_texts, "MANY_SKELETONS", least)
        yield


def shown(rows: list[dict[str, Any]]) -> list[str]:
    return [repr(row) for row in rows]


@settings(max_examples=EXAMPLES)
@given(random=st.randoms(use_true_random=False), engine=st.sampled_from(["auto", "auto", "plain"]))
def test_the_union_of_single_runs(random: Random, engine: str) -> None:
    given_texts = texts(random, 14)
    with by_conditions():
        queries = cep.Queries(given_texts)
    events = table(random)
    reference, found = queries.match(events, engine="reference"), queries.match(events, engine=engine)
    assert shown(found.to_pylist()) == shown(reference.to_pylist())
    single = [row for number, one in enumerate(given_texts) for row in _alone(one, number, events)]
    assert sorted(map(repr, _plain(found))) == sorted(map(repr, single))


def _alone(given_text: str, number: int, events: pa.Table) -> Iterator[Any]:
    for match in cep.Query(given_text).match(events).to_pylist():
        yield number, sorted(match.items(), key=lambda item: item[0])


def _plain(found: ManyMatches) -> Iterator[Any]:
    for id in range(len(found.rules.ids)):
        for match in found.of(id).to_pylist():
            yield id, sorted(match.items(), key=lambda item: item[0])


@settings(max_examples=EXAMPLES)
@given(random=st.randoms(use_true_random=False))
def test_sessions_in_which_texts_come_and_go(random: Random) -> None:
    with by_conditions():
        queries = cep.Queries(texts(random, 10))
        known = len(queries)
        coming = sorted((event(random) for _ in range(random.randrange(25))), key=lambda one: one["ts"])
        session = queries.session()
        session.push(COLUMNS.empty_table())
        taken: list[dict[str, Any]] = []
        found: list[dict[str, Any]] = []
        while coming:
            size = random.randrange(1, 6)
            batch, coming = coming[:size], coming[size:]
            taken += batch
            found += session.push(batch).to_pylist()
            at = random.choice([None, max(one["ts"] for one in taken) + random.randrange(3)])
            match random.randrange(6):
                case 0 if coming:
                    found += session.advance(coming[0]["ts"]).to_pylist()
                case 1:
                    more = texts(random, 6)
                    session.add(more, at=at)
                    known += len(more)
                case 2 | 4:
                    with suppress(cep.PatternError):  # it may be over by then, or have not begun
                        session.remove([random.randrange(known)], at=at)
                case 3:
                    session = queries.restore(session.snapshot())
        found += session.close().to_pylist()
    events = pa.Table.from_pylist(taken, COLUMNS)
    single = match_each(session.rules, queries.options, events, session.lives)
    wanted = ManyMatches(session.rules, single, lambda t, n: no_matches(session.rules, queries.options, COLUMNS, t, n))
    assert sorted(shown(found)) == sorted(shown(wanted.to_pylist()))
