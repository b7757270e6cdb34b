"""The paths through a pattern: places where an event is bound, and the moves between them.

A pattern is laid out as a position automaton: one place per event of the tree, and from each place the moves to
the places that can come next. What lies between two places - a repetition entered, repeated or left, an absence
crossed - is written on the move as marks, in order. All operators end here: SEQ, OR, AND, + * ? {n,m}, groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from cepheid.errors import PatternError
from cepheid.pattern.tree.nodes import AnyOrder, Either, EventPattern, Maybe, Negation, PatternTree, Repeat, Seq, Window
from cepheid.pattern.tree.walk import children, walk


class MarkAction(Enum):
    """What a mark says of its loop or negation."""

    ENTER = "enter"
    AGAIN = "again"
    EXIT = "exit"
    SKIP = "skip"  # a repetition of zero times is passed
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Mark:
    """A step and the number of the loop, or of the negation for ABSENT."""

    step: MarkAction
    number: int


@dataclass(frozen=True, slots=True)
class Move:
    """To a place, or to the end of the pattern (None)."""

    marks: tuple[Mark, ...]
    target: int | None

    @property
    def repeats(self) -> bool:
        """Whether the move repeats the loop that its place completes (a *take* of SASE+ 3.1)."""
        return self._first() is MarkAction.AGAIN

    @property
    def leaves(self) -> bool:
        """Whether the move leaves the loop that its place completes (a *proceed*)."""
        return self._first() is MarkAction.EXIT

    def _first(self) -> MarkAction | None:
        # What is absent or passed over at the end of a round does not end it.
        return next((m.step for m in self.marks if m.step not in (MarkAction.ABSENT, MarkAction.SKIP)), None)


@dataclass(frozen=True, slots=True)
class Place:
    """Where an event is bound. `later`: the variables that come after it; `loops`: outermost first."""

    event: EventPattern
    later: frozenset[str]
    loops: tuple[int, ...]

    @property
    def variable(self) -> str:
        """The variable that is bound here."""
        assert self.event.variable is not None
        return self.event.variable


@dataclass(frozen=True, slots=True)
class AbsentEvent:
    """Where an event must be absent; `loops`: outermost first; `period`: for how long, if the query says so (S26)."""

    event: EventPattern
    loops: tuple[int, ...]
    period: Window | None = None

    @property
    def variable(self) -> str:
        """The variable of the negated event."""
        assert self.event.variable is not None
        return self.event.variable


@dataclass(frozen=True, slots=True)
class Loop:
    """A repetition. `outer`: the loops around it."""

    low: int
    high: int | None
    variables: frozenset[str]
    later: frozenset[str]
    outer: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """The automaton: places, loops and negations by number, the first moves, the moves from each place."""

    places: tuple[Place, ...]
    loops: tuple[Loop, ...]
    negations: tuple[AbsentEvent, ...]
    starts: tuple[Move, ...]
    moves: tuple[tuple[Move, ...], ...]


MAX_PLACES = 1_024
"""AND of eight events, each laid out once for each set of the others that can come after it: 8 * 2**7 places."""


def check_orders(pattern: PatternTree) -> int:
    """How many places a pattern takes; an AND that would take too many is refused."""
    places = isinstance(pattern, EventPattern) + sum(check_orders(part) for part in children(pattern))
    if isinstance(pattern, AnyOrder):
        places *= 2 ** (len(pattern.parts) - 1)
        if places > MAX_PLACES:
            raise PatternError(
                "CEP217",
                f"AND of {len(pattern.parts)} patterns has too many orders",
                "use at most eight single events, or fewer operands if they have several events",
                pattern.span,
            )
    return places


def lay_out(pattern: PatternTree) -> Layout:
    """Lay out a named pattern.

    >>> lay_out(Seq((EventPattern(("A",), "a"), EventPattern(("B",), "b")))).moves[0]
    (Move(marks=(), target=1),)
    """
    check_orders(pattern)
    drafts = _Drafts()
    root = drafts.number(pattern, frozenset(), ())
    drafts.link(root, [Move((), None)])
    return Layout(
        tuple(drafts.places),
        tuple(drafts.loops),
        tuple(drafts.negations),
        tuple(_unique(drafts.first(root))),
        tuple(tuple(_unique(moves)) for moves in drafts.moves),
    )


_Left = tuple[int, ...]
"""The operands of an AND that are still to come, in the order of the text."""


@dataclass(frozen=True, slots=True)
class _Numbered:
    """A node of the tree with the number of its place, loop or negation.

    AND is the union of the sequences of its operands in all orders. What is to come does not depend on the order of
    what was, so the orders share it: of each operand there is one copy for each set of operands left after it.
    """

    node: PatternTree
    number: int
    parts: tuple[_Numbered, ...] = ()
    copies: Mapping[tuple[int, _Left], _Numbered] = field(default_factory=dict)


class _Drafts:
    """The tables under construction."""

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.loops: list[Loop] = []
        self.negations: list[AbsentEvent] = []
        self.moves: list[list[Move]] = []

    def number(self, node: PatternTree, later: frozenset[str], loops: tuple[int, ...]) -> _Numbered:
        match node:
            case EventPattern():
                self.places.append(Place(node, later, loops))
                self.moves.append([])
                return _Numbered(node, len(self.places) - 1)
            case Negation(event=event, period=period):
                self.negations.append(AbsentEvent(event, loops, period))
                return _Numbered(node, len(self.negations) - 1)
            case Repeat(body=body, low=low, high=high):
                loop = len(self.loops)
                self.loops.append(Loop(low, high, _variables(body), later, loops))
                part = self.number(body, later, (*loops, loop))
                if self.empty(part):
                    self.loops[loop] = replace(self.loops[loop], low=0)
                return _Numbered(node, loop, (part,))
            case Maybe(body=body):
                return _Numbered(node, -1, (self.number(body, later, loops),))
            case Either(parts=parts):
                return _Numbered(node, -1, tuple(self.number(p, later, loops) for p in parts))
            case Seq(parts=parts):
                after = [later]
                for following in reversed(parts[1:]):
                    after.append(after[-1] | _variables(following))
                return _Numbered(
                    node, -1, tuple(self.number(p, rest, loops) for p, rest in zip(parts, reversed(after), strict=True))
                )
            case AnyOrder(parts=parts):
                names = [_variables(part) for part in parts]
                copies = {
                    (k, left): self.number(parts[k], later.union(*(names[other] for other in left)), loops)
                    for k, left in _copies(_all(parts), set())
                }
                return _Numbered(node, -1, copies=copies)
            case _:
                raise TypeError(f"no layout for {type(node).__name__}")

    def first(self, node: _Numbered) -> list[Move]:
        """The ways to the first event of a pattern."""
        match node.node:
            case EventPattern():
                return [Move((), node.number)]
            case Negation():
                return []
            case Repeat():
                return [_before((Mark(MarkAction.ENTER, node.number),), move) for move in self.first(node.parts[0])]
            case Seq():
                return self.sequence(node.parts, [])
            case AnyOrder(parts=parts):
                return self.any_order(node, _all(parts), [])
            case _:
                return [move for part in node.parts for move in self.first(part)]

    def sequence(self, parts: tuple[_Numbered, ...], after: list[Move]) -> list[Move]:
        """The ways to the first event of some parts in a row and of what comes after them."""
        found: list[Move] = []
        passed: list[tuple[Mark, ...]] = [()]
        for part in parts:
            if not passed:
                return found
            found += [_before(marks, move) for marks in passed for move in self.first(part)]
            passed = [marks + more for marks in passed for more in self.empty(part)]
        return found + [_before(marks, move) for marks in passed for move in after]

    def any_order(self, node: _Numbered, left: _Left, after: list[Move]) -> list[Move]:
        """The ways to the first event of what is left of an AND and of what comes after it."""
        found: list[Move] = []
        for marks, rest in self.passed(node, left):
            ahead = [move for k in rest for move in self.first(node.copies[k, _without(rest, k)])] if rest else after
            found += [_before(marks, move) for move in ahead]
        return found

    def passed(self, node: _Numbered, left: _Left) -> list[tuple[tuple[Mark, ...], _Left]]:
        """The ways through some of what is left of an AND that bind no event, and what is left then.

        Operands are passed in the order of the text: nothing happens between them, so another order is no other way.
        """
        ways: list[tuple[tuple[Mark, ...], _Left]] = [((), left)]
        for k in left:
            for marks, rest in tuple(ways):
                then = _without(rest, k)
                ways += [(marks + more, then) for more in self.empty(node.copies[k, then])]
        return ways

    def empty(self, node: _Numbered) -> list[tuple[Mark, ...]]:
        """The ways through a pattern that bind no event."""
        match node.node:
            case EventPattern():
                return []
            case Negation():
                return [(Mark(MarkAction.ABSENT, node.number),)]
            case Repeat():
                return [(Mark(MarkAction.SKIP, node.number),)] if self.loops[node.number].low == 0 else []
            case Maybe():
                return [()]
            case Seq():
                ways: list[tuple[Mark, ...]] = [()]
                for part in node.parts:
                    ways = [way + more for way in ways for more in self.empty(part)]
                return ways
            case AnyOrder(parts=parts):
                return [marks for marks, left in self.passed(node, _all(parts)) if not left]
            case _:
                return [way for part in node.parts for way in self.empty(part)]

    def link(self, node: _Numbered, after: list[Move]) -> None:
        """Write down the moves of all places of a pattern, given what comes after it."""
        match node.node:
            case EventPattern():
                self.moves[node.number] += after
            case Negation():
                pass
            case Repeat():
                again = [_before((Mark(MarkAction.AGAIN, node.number),), move) for move in self.first(node.parts[0])]
                leave = [_before((Mark(MarkAction.EXIT, node.number),), move) for move in after]
                self.link(node.parts[0], again + leave)
            case Seq():
                for k, part in enumerate(node.parts):
                    self.link(part, self.sequence(node.parts[k + 1 :], after))
            case AnyOrder():
                ahead = {left: self.any_order(node, left, after) for left in {left for _, left in node.copies}}
                for (_, left), copy in node.copies.items():
                    self.link(copy, ahead[left])
            case _:
                for part in node.parts:
                    self.link(part, after)


def _before(marks: tuple[Mark, ...], move: Move) -> Move:
    return Move(marks + move.marks, move.target)


def _all(parts: tuple[PatternTree, ...]) -> _Left:
    return tuple(range(len(parts)))


def _without(left: _Left, k: int) -> _Left:
    return tuple(other for other in left if other != k)


def _copies(left: _Left, seen: set[_Left]) -> Iterator[tuple[int, _Left]]:
    """Each operand of an AND with each set that can be left after it, as the orders of the text meet them."""
    if left not in seen:
        seen.add(left)
        for k in left:
            yield k, _without(left, k)
            yield from _copies(_without(left, k), seen)


def _variables(pattern: PatternTree) -> frozenset[str]:
    negated = {id(node.event) for node in walk(pattern) if isinstance(node, Negation)}
    return frozenset(
        node.variable
        for node in walk(pattern)
        if isinstance(node, EventPattern) and node.variable is not None and id(node) not in negated
    )


def _unique(moves: list[Move]) -> list[Move]:
    return list(dict.fromkeys(moves))


def absences(moves: Iterable[Move]) -> Iterator[int]:
    """The numbers of the negations that some moves cross."""
    return (mark.number for move in moves for mark in move.marks if mark.step is MarkAction.ABSENT)


def always_bound(layout: Layout) -> frozenset[str]:
    """The variables that every path through the pattern binds."""
    reachable: dict[int, frozenset[str]] = {}
    pending = [(m.target, frozenset[str]()) for m in layout.starts]
    bound_at_end: list[frozenset[str]] = []
    while pending:
        target, seen = pending.pop()
        if target is None:
            bound_at_end.append(seen)
            continue
        now = seen | {layout.places[target].variable}
        known = reachable.get(target)
        if known is not None and known <= now:
            continue
        reachable[target] = now if known is None else known & now
        pending += [(m.target, reachable[target]) for m in layout.moves[target]]
    return frozenset.intersection(*bound_at_end) if bound_at_end else frozenset()
