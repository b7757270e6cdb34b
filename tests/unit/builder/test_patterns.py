"""Each constructor of a pattern, on the exact node that it makes."""

import pytest

from cepheid import builder as cep
from cepheid.builder import Pattern
from cepheid.pattern.tree.nodes import AnyOrder, Either, EventPattern, Maybe, Negation, Program, QueryTree, Repeat, Seq

A, B, C = EventPattern(("A",), "a"), EventPattern(("B",), "b"), EventPattern(("C",), "c")
a, b, c = cep.event("A", "a"), cep.event("B", "b"), cep.event("C", "c")


@pytest.mark.parametrize(
    ("pattern", "node"),
    [
        (a, A),
        (cep.event("A", cep.var("a")), A),
        (cep.event("A"), EventPattern(("A",), None)),
        (cep.event(["A", "B"], "a"), EventPattern(("A", "B"), "a")),
        (cep.event(("A",), "a"), A),
        (~b, Negation(B)),
        (cep.seq(a), Seq((A,))),
        (cep.seq(a, ~b, c), Seq((A, Negation(B), C))),
        (cep.seq(a, cep.seq(b, c)), Seq((A, Seq((B, C))))),
        (cep.either(a, b), Either((A, B))),
        (cep.either(cep.either(a, b), c), Either((Either((A, B)), C))),
        (cep.any_order(a, b), AnyOrder((A, B))),
        (a | b, Either((A, B))),
        (a | b | c, Either((A, B, C))),
        (a | (b | c), Either((A, B, C))),
        (a.one_or_more(), Repeat(A, 1, None)),
        (a.zero_or_more(), Repeat(A, 0, None)),
        (a.at_least(2), Repeat(A, 2, None)),
        (a.times(3), Repeat(A, 3, 3)),
        (a.times(0, 2), Repeat(A, 0, 2)),
        (a.optional(), Maybe(A)),
        (cep.seq(a, b).one_or_more(), Repeat(Seq((A, B)), 1, None)),
        (a.one_or_more().optional(), Maybe(Repeat(A, 1, None))),
    ],
    ids=str,
)
def test_a_pattern_is_one_node(pattern: Pattern, node: object) -> None:
    assert pattern.program == Program((QueryTree(node),))


def test_patterns_are_values() -> None:
    assert cep.event("A", "a") == a
    assert len({a, cep.event("A", "a"), b}) == 2
    assert a.one_or_more() is not a
    assert a.program == Program((QueryTree(A),))


def test_a_pattern_shows_its_text() -> None:
    pattern = cep.seq(a, ~b, c.one_or_more()).same("id").within("5 minutes")
    assert str(pattern) == "PATTERN SEQ(A a, !(B b), C+ c[])\nWHERE [id]\nWITHIN 5 minutes"
    assert repr(pattern) == "<PATTERN SEQ(A a, !(B b), C+ c[]) WHERE [id] WITHIN 5 minutes>"
