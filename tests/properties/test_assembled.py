"""The automaton of a frame with its conditions is put together of those with one condition each."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import assume, event, given

from cepheid import Query
from cepheid.automaton.build import build
from cepheid.automaton.model import Automaton, NotNative
from cepheid.engine.many.assembled import NotUnitedError, assembled, plain
from cepheid.language.constants import as_literal
from cepheid.language.frames import read_frames, with_conditions
from cepheid.language.template import with_constants, with_literals
from cepheid.pattern import expressions as ex
from cepheid.pattern.schema import make_schema
from cepheid.pattern.tree import Program
from cepheid.testing.strategies import LASTING, PLAIN, Features, GeneratedQuery, algebra_queries, queries

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")
CHAINS = Features(repetition=False, composition=False, parameters=False, declared_types=False, having=False)


def automaton_of(program: Program, options: Any, columns: Any) -> Automaton:
    compiled = Query(program, **options).compiled
    return build(compiled.bind(make_schema(columns, compiled.roles))[0])


def parts_of(text: str) -> tuple[Program, list[tuple[str, ex.Expression]]]:
    """A frame, and the conditions of its blocks; `[attr]` stays in it."""
    found = read_frames([text])
    frame = found.frames[0]
    conditions = [
        (conjunct.block, with_literals(condition, {n: as_literal(c, int(row)) for n, c in conjunct.columns.items()}))
        for conjunct, row in ((found.conjuncts[k], r) for k, r in zip(found.conjunct, found.conjunct_row, strict=True))
        for condition in conjunct.conditions
    ]
    constants = {name: as_literal(column, 0) for name, column in frame.columns.items()}
    return with_constants(frame.program, constants), conditions


def with_some(frame: Program, conditions: list[tuple[str, ex.Expression]], chosen: set[int]) -> Program:
    blocks: dict[str, list[ex.Expression]] = {block: [] for block, _ in conditions}
    for number, (block, condition) in enumerate(conditions):
        if number in chosen or isinstance(condition, ex.SameValue):
            blocks[block].append(condition)
    return with_conditions(frame, blocks)


def shown(automaton: Automaton) -> Any:
    """What is to be equal; the order of tests and of registers does not matter."""
    return (
        automaton.configs,
        automaton.states,
        automaton.entries,
        [(a.source, a.target, a.label, a.types, Counter(map(repr, a.fence)), a.transfer, a.decides, a.unseen, a.closing)
         for a in automaton.arcs],
        [(k.source, k.target, k.types, Counter(map(repr, k.fence)), k.closes) for k in automaton.kills],
        [(e.config, Counter(map(repr, e.fence)), e.reached, e.lasting, e.witnesses, e.gives,
          [(a.types, Counter(map(repr, a.fence))) for a in e.absent]) for e in automaton.exits],
        [(w.negation, w.types, Counter(map(repr, w.fence)), w.lasting) for w in automaton.witnesses],
        set(automaton.registers), automaton.live, automaton.needed, automaton.ambiguous,
    )  # fmt: skip


def check(query: GeneratedQuery, columns: Any) -> None:
    try:
        whole = automaton_of(query.program, query.options, columns)
        frame, conditions = parts_of(query.text)
        assume(conditions)
        base = automaton_of(with_some(frame, conditions, set()), query.options, columns)
        parts = [
            automaton_of(with_some(frame, conditions, {number}), query.options, columns)
            for number, (_, condition) in enumerate(conditions)
            if not isinstance(condition, ex.SameValue)
        ]
        found = assembled(base, parts)
    except (NotNative, NotUnitedError) as reason:
        event(str(reason))
        return
    event(f"put together: {len(parts)} conditions")
    assert shown(found) == shown(plain(whole))


@given(queries(PLAIN, CHAINS))
def test_that_a_chain_is_put_together(query: GeneratedQuery) -> None:
    check(query, PLAIN)


@given(queries(PLAIN))
def test_that_any_query_is_put_together_or_refused(query: GeneratedQuery) -> None:
    check(query, PLAIN)


@given(algebra_queries())
def test_that_an_algebra_is_put_together_or_refused(query: GeneratedQuery) -> None:
    check(query, LASTING)
