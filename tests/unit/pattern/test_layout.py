"""The paths through a pattern, on exact values."""

import pytest

from cepheid import PatternError
from cepheid.language import parse
from cepheid.pattern.tree.layout import Layout, Mark, MarkAction, Move, lay_out


def laid_out(pattern: str) -> Layout:
    return lay_out(parse(f"PATTERN {pattern}").queries[0].pattern)


def test_sequence() -> None:
    layout = laid_out("SEQ(A a, B b)")
    assert layout.starts == (Move((), 0),)
    assert layout.moves == ((Move((), 1),), (Move((), None),))
    assert [sorted(p.later) for p in layout.places] == [["b"], []]


def test_kleene_plus_takes_and_proceeds() -> None:
    layout = laid_out("SEQ(A+ a[], B b)")
    assert layout.starts == (Move((Mark(MarkAction.ENTER, 0),), 0),)
    take, proceed = layout.moves[0]
    assert take == Move((Mark(MarkAction.AGAIN, 0),), 0)
    assert proceed == Move((Mark(MarkAction.EXIT, 0),), 1)
    assert (take.repeats, take.leaves, proceed.repeats, proceed.leaves) == (True, False, False, True)


def test_star_can_be_passed() -> None:
    layout = laid_out("SEQ(A a, B* b[], C c)")
    assert layout.moves[0] == (Move((Mark(MarkAction.ENTER, 0),), 1), Move((Mark(MarkAction.SKIP, 0),), 2))


def test_star_alone_has_no_empty_match() -> None:
    assert laid_out("A* a[]").starts == (Move((Mark(MarkAction.ENTER, 0),), 0),)


def test_maybe_has_two_ways() -> None:
    layout = laid_out("SEQ(A a, B? b, C c)")
    assert layout.moves[0] == (Move((), 1), Move((), 2))


def test_negation_is_a_mark_on_the_way() -> None:
    layout = laid_out("SEQ(!(X x), A a, !(Y y), B b, !(Z z))")
    assert layout.starts == (Move((Mark(MarkAction.ABSENT, 0),), 0),)
    assert layout.moves == ((Move((Mark(MarkAction.ABSENT, 1),), 1),), (Move((Mark(MarkAction.ABSENT, 2),), None),))
    assert [event.variable for event in layout.negations] == ["x", "y", "z"]


def test_group_repeats_as_a_whole() -> None:
    layout = laid_out("SEQ((SEQ(A a, B b))+, C c)")
    assert layout.moves[0] == (Move((), 1),)
    assert layout.moves[1] == (Move((Mark(MarkAction.AGAIN, 0),), 0), Move((Mark(MarkAction.EXIT, 0),), 2))
    assert sorted(layout.loops[0].variables) == ["a", "b"]


def test_and_is_all_orders() -> None:
    layout = laid_out("AND(A a, B b)")
    assert [p.variable for p in layout.places] == ["a", "b", "b", "a"]
    assert layout.starts == (Move((), 0), Move((), 2))
    assert layout.moves == ((Move((), 1),), (Move((), None),), (Move((), 3),), (Move((), None),))


def test_orders_share_what_is_left() -> None:
    layout = laid_out("AND(A a, B b, C c)")
    copies = [(p.variable, "".join(sorted(p.later))) for p in layout.places]
    assert copies[:5] == [("a", "bc"), ("b", "c"), ("c", ""), ("c", "b"), ("b", "")]
    assert copies[5:] == [("b", "ac"), ("a", "c"), ("c", "a"), ("a", ""), ("c", "ab"), ("a", "b"), ("b", "a")]
    # c is last after a, b and after b, a.
    assert layout.moves[1] == layout.moves[6] == (Move((), 2),)
    assert layout.moves[0] == (Move((), 1), Move((), 3))


@pytest.mark.parametrize("count", range(2, 9))
def test_an_operand_is_laid_out_once_for_each_set_that_is_left(count: int) -> None:
    layout = laid_out(f"AND({', '.join(f'{v.upper()} {v}' for v in 'abcdefgh'[:count])})")
    assert len(layout.places) == len({(p.variable, p.later) for p in layout.places}) == count * 2 ** (count - 1)
    assert [len(moves) for moves in layout.moves] == [len(p.later) or 1 for p in layout.places]
    assert len(layout.starts) == count


def test_what_follows_an_and_is_later_for_all_of_it() -> None:
    layout = laid_out("SEQ(AND(A a, SEQ(B b, !(X x), C c)), D d)")
    assert {p.variable: sorted(p.later) for p in layout.places[:3]} == {
        "a": ["b", "c", "d"],
        "b": ["c", "d"],
        "c": ["d"],
    }
    assert len(layout.negations) == 2  # one for each copy of the sequence


def test_operands_are_passed_in_the_order_of_the_text() -> None:
    layout = laid_out("SEQ(AND(A* a[], B* b[]), C c)")
    loops = [sorted(loop.variables | loop.later) for loop in layout.loops]
    assert loops == [["a", "b", "c"], ["b", "c"], ["a", "b", "c"], ["a", "c"]]
    to_the_end = [move for move in layout.starts if move.target == 4]
    assert to_the_end == [Move((Mark(MarkAction.SKIP, 0), Mark(MarkAction.SKIP, 1)), 4)]


def test_no_move_is_there_twice() -> None:
    layout = laid_out("SEQ(AND(A? a, B? b, C* c[], D? d), (AND(E? e, F f))+)")
    for moves in (layout.starts, *layout.moves):
        assert len(set(moves)) == len(moves)


def test_or_is_either() -> None:
    layout = laid_out("SEQ(OR(A a, B b), C c)")
    assert layout.starts == (Move((), 0), Move((), 1))
    assert layout.moves[:2] == ((Move((), 2),), (Move((), 2),))


def test_a_repetition_of_something_that_may_be_empty_may_be_empty() -> None:
    layout = laid_out("SEQ(A a, (B? b){2,3}, C c)")
    assert layout.loops[0].low == 0
    assert Move((Mark(MarkAction.SKIP, 0),), 2) in layout.moves[0]


@pytest.mark.parametrize(
    ("pattern", "operands", "column"),
    [
        ("AND(A a, B b, C c, D d, E e, F f, G g, H h, I i)", 9, 9),
        ("SEQ(Z z, AND(A a, B b, C c, D d, E e, F f, G g, SEQ(H h, I i)))", 8, 18),
        ("AND(Z z, AND(A a, B b, C c, D d, E e, F f, G g, H h))", 2, 9),
    ],
)
def test_and_of_many_is_refused(pattern: str, operands: int, column: int) -> None:
    with pytest.raises(PatternError, match=f"AND of {operands} patterns") as error:
        laid_out(pattern)
    assert (error.value.code, error.value.line, error.value.column) == ("CEP217", 1, column)
