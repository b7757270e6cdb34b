"""The paths through a pattern: places where an event is bound, and the moves between them.

A pattern is laid out as a position automaton: one place per event of the tree, and from each place the moves to
the places that can come next. What lies between two places - a repetition entered, repeated or left, an absence
crossed - is written on the move as marks, in order. All operators end here: SEQ, OR, AND, + * ? {n,m}, groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from itertools import permutations
from math import factorial

from cepheid.errors import PatternError
from cepheid.pattern.tree import AnyOrder, Either, Event, Maybe, Negation, Pattern, Repeat, Seq
from cepheid.pattern.walk import rewrite, walk


class Step(Enum):
    """What a mark says of its loop or negation."""

    ENTER = "enter"
    AGAIN = "again"
    EXIT = "exit"
    SKIP = "skip"  # a repetition of zero times is passed
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Mark:
    """A step and the number of the loop, or of the negation for ABSENT."""

    step: Step
    number: int


@dataclass(frozen=True, slots=True)
class Move:
    """To a place, or to the end of the pattern (None)."""

    marks: tuple[Mark, ...]
    target: int | None

    @property
    def repeats(self) -> bool:
        """Whether the move repeats the loop that its place completes (a *take* of SASE+ 3.1)."""
        return self._first() is Step.AGAIN

    @property
    def leaves(self) -> bool:
        """Whether the move leaves the loop that its place completes (a *proceed*)."""
        return self._first() is Step.EXIT

    def _first(self) -> Step | None:
        # What is absent or passed over at the end of a round does not end it.
        return next((m.step for m in self.marks if m.step not in (Step.ABSENT, Step.SKIP)), None)


@dataclass(frozen=True, slots=True)
class Place:
    """Where an event is bound. `later`: the variables that come after it; `loops`: outermost first."""

    event: Event
    later: frozenset[str]
    loops: tuple[int, ...]

    @property
    def variable(self) -> str:
        """The variable that is bound here."""
        assert self.event.variable is not None
        return self.event.variable


@dataclass(frozen=True, slots=True)
class Absent:
    """Where an event must be absent; `loops`: outermost first."""

    event: Event
    loops: tuple[int, ...]

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
    negations: tuple[Absent, ...]
    starts: tuple[Move, ...]
    moves: tuple[tuple[Move, ...], ...]


MAX_PLACES = 1_000
"""AND of five events is 600 places, five in each of 120 orders; AND of six is refused."""


def expand_orders(pattern: Pattern) -> Pattern:
    """AND is the union of the sequences of its operands in all orders."""

    def change(node: Pattern) -> Pattern:
        if not isinstance(node, AnyOrder):
            return node
        events = sum(isinstance(inner, Event) for part in node.parts for inner in walk(part))
        if factorial(len(node.parts)) * events > MAX_PLACES:
            raise PatternError(
                "CEP217",
                f"AND of {len(node.parts)} patterns has too many orders",
                "use at most five operands, and fewer where they are no single events",
                node.span,
            )
        orders = (Seq(order, span=node.span) for order in permutations(node.parts))
        return Either(tuple(orders), span=node.span)

    return rewrite(pattern, change)


def lay_out(pattern: Pattern) -> Layout:
    """Lay out a named pattern.

    >>> lay_out(Seq((Event(("A",), "a"), Event(("B",), "b")))).moves[0]
    (Move(marks=(), target=1),)
    """
    drafts = _Drafts()
    root = drafts.number(expand_orders(pattern), frozenset(), ())
    drafts.link(root, [Move((), None)])
    return Layout(
        tuple(drafts.places),
        tuple(drafts.loops),
        tuple(drafts.negations),
        tuple(_unique(drafts.first(root))),
        tuple(tuple(_unique(moves)) for moves in drafts.moves),
    )


@dataclass(frozen=True, slots=True)
class _Numbered:
    """A node of the tree with the number of its place, loop or negation."""

    node: Pattern
    number: int
    parts: tuple[_Numbered, ...] = ()


class _Drafts:
    """The tables under construction."""

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.loops: list[Loop] = []
        self.negations: list[Absent] = []
        self.moves: list[list[Move]] = []

    def number(self, node: Pattern, later: frozenset[str], loops: tuple[int, ...]) -> _Numbered:
        match node:
            case Event():
                self.places.append(Place(node, later, loops))
                self.moves.append([])
                return _Numbered(node, len(self.places) - 1)
            case Negation(event=event):
                self.negations.append(Absent(event, loops))
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
            case _:
                raise TypeError(f"no layout for {type(node).__name__}")

    def first(self, node: _Numbered) -> list[Move]:
        """The ways to the first event of a pattern."""
        match node.node:
            case Event():
                return [Move((), node.number)]
            case Negation():
                return []
            case Repeat():
                return [_before((Mark(Step.ENTER, node.number),), move) for move in self.first(node.parts[0])]
            case Seq():
                return self.sequence(node.parts, [])
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

    def empty(self, node: _Numbered) -> list[tuple[Mark, ...]]:
        """The ways through a pattern that bind no event."""
        match node.node:
            case Event():
                return []
            case Negation():
                return [(Mark(Step.ABSENT, node.number),)]
            case Repeat():
                return [(Mark(Step.SKIP, node.number),)] if self.loops[node.number].low == 0 else []
            case Maybe():
                return [()]
            case Seq():
                ways: list[tuple[Mark, ...]] = [()]
                for part in node.parts:
                    ways = [way + more for way in ways for more in self.empty(part)]
                return ways
            case _:
                return [way for part in node.parts for way in self.empty(part)]

    def link(self, node: _Numbered, after: list[Move]) -> None:
        """Write down the moves of all places of a pattern, given what comes after it."""
        match node.node:
            case Event():
                self.moves[node.number] += after
            case Negation():
                pass
            case Repeat():
                again = [_before((Mark(Step.AGAIN, node.number),), move) for move in self.first(node.parts[0])]
                leave = [_before((Mark(Step.EXIT, node.number),), move) for move in after]
                self.link(node.parts[0], again + leave)
            case Seq():
                for k, part in enumerate(node.parts):
                    self.link(part, self.sequence(node.parts[k + 1 :], after))
            case _:
                for part in node.parts:
                    self.link(part, after)


def _before(marks: tuple[Mark, ...], move: Move) -> Move:
    return Move(marks + move.marks, move.target)


def _variables(pattern: Pattern) -> frozenset[str]:
    negated = {id(node.event) for node in walk(pattern) if isinstance(node, Negation)}
    return frozenset(
        node.variable
        for node in walk(pattern)
        if isinstance(node, Event) and node.variable is not None and id(node) not in negated
    )


def _unique(moves: list[Move]) -> list[Move]:
    return list(dict.fromkeys(moves))
