"""From a bound query to its automaton: all that the layout says, with every choice that can be settled now settled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cepheid.automaton.algebra import build_algebra
from cepheid.automaton.ambiguity import is_ambiguous
from cepheid.automaton.liveness import find_live
from cepheid.automaton.model import (
    Absent,
    Arc,
    Config,
    Ends,
    Exit,
    Fixed,
    Held,
    Kill,
    NotNative,
    Now,
    Register,
    RegisterAutomaton,
    Started,
    State,
    Test,
    Witness,
)
from cepheid.automaton.own import build_own
from cepheid.automaton.registers import Registers
from cepheid.automaton.resolve import KnownVariables, Sight
from cepheid.front.runnable import Result, Runnable
from cepheid.pattern.binding.placement import TestedAt
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.nodes import Nth
from cepheid.pattern.expressions.types import INT
from cepheid.pattern.tree.layout import Mark, MarkAction, Move
from cepheid.pattern.tree.nodes import Language, Strategy, Ties
from cepheid.pattern.tree.uses import uses
from cepheid.pattern.tree.walk import conjuncts, walk
from cepheid.values.bindings import NOTHING
from cepheid.values.evaluate import Compiler

MAX_CONFIGS = MAX_ARCS = 128
"""A larger automaton would take longer to compile than to run."""

ENDS = {
    Strategy.STRICT: Ends.ANYTHING,
    Strategy.PARTITION: Ends.AGREEMENT,
    Strategy.NEXT: Ends.DECISION,
    Strategy.ANY: Ends.NOTHING,
}


def build(query: Runnable, *, having: bool = False, results: bool = False, lasting: bool = False) -> RegisterAutomaton:
    """The automaton of a query, or the reason why there is none.

    having: its matches are those that pass HAVING. results: its exits give what RETURN asks for.
    lasting: of an automaton of one's own, its arcs may change while it runs.
    """
    return _BUILDERS[query.language](query, having=having, results=results, lasting=lasting)


def _of_pattern(query: Runnable, *, having: bool, results: bool, lasting: bool) -> RegisterAutomaton:
    _check(query)
    tests = conjuncts(query.having) if having and query.having is not None else ()
    builder = _PatternBuilder(query, tests, query.returns if results else ())
    automaton = builder.build()
    return replace(find_live(automaton, builder.start), ambiguous=is_ambiguous(automaton))


def _of_automaton(query: Runnable, *, having: bool, results: bool, lasting: bool) -> RegisterAutomaton:
    return build_own(query, lasting=lasting)


def _of_cesar(query: Runnable, *, having: bool, results: bool, lasting: bool) -> RegisterAutomaton:
    return build_algebra(query)


_BUILDERS: Mapping[Language, Callable[..., RegisterAutomaton]] = {
    Language.PATTERN: _of_pattern,
    Language.AUTOMATON: _of_automaton,
    Language.CESAR: _of_cesar,
}


def _check(query: Runnable) -> None:
    strategies = set(query.strategies.values())
    _check_periods(query)
    if query.same and query.schema.roles.types is not None:
        raise NotNative("[attr] with declared types")
    if query.same and Strategy.STRICT in strategies and len(strategies) > 1:
        raise NotNative("[attr] with strict_contiguity for some variables")


def _check_periods(query: Runnable) -> None:
    """Absences that last FOR a while (S26): all matches wait equally long after their last events."""
    periods = {query.periods[negation] for negation in query.trailing}
    if len(periods) > 1:
        raise NotNative("absent events at the end, for different times")
    if query.counted and (query.ahead or query.behind):
        raise NotNative("an absent event FOR a while, in a window of events")


@dataclass(frozen=True, slots=True)
class _Point(KnownVariables):
    """A config under construction: a place of the layout, what is settled there, and the rounds of each loop."""

    place: int
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Wait:
    """A state under construction: one more event of a loop, or what follows."""

    config: int
    take: Move | None
    others: tuple[Move, ...]
    strategy: Strategy

    @property
    def moves(self) -> tuple[Move, ...]:
        """All ways on: to take one more event of a closure first, then the others."""
        return (*([self.take] if self.take else []), *self.others)


class _PatternBuilder:
    """The tables of a pattern's automaton under construction; `build` fills them once."""

    def __init__(self, query: Runnable, having: Sequence[ex.Expression], results: Sequence[Result]) -> None:
        self.query = query
        self.having = having
        self.results = results
        self.layout = query.layout
        self.points: list[_Point] = []
        self.waiting: list[_Wait] = []
        self.arcs: list[tuple[Arc, bool]] = []  # and whether its variable had an event before
        self.kills: list[Kill] = []
        self.exits: list[Exit] = []
        self.entries: list[tuple[int, ...]] = []  # of each config, in the order of their numbers
        self.keyed = bool(query.same) and Strategy.STRICT in query.strategies.values()
        self.registers = Registers(query.schema.columns[query.schema.roles.time])
        self.start: Register | None = None
        nothing: frozenset[str] = frozenset()
        self.blank = _Point(nothing, nothing, nothing, -1, (0,) * len(self.layout.loops))

    def build(self) -> RegisterAutomaton:
        constants = all(Compiler(self.query).condition(c)(NOTHING) for c in self.query.placement.constant)
        for move in self.layout.starts if constants else ():
            self.arc(None, self.blank, move, decides=False)
        done = 0
        while done < len(self.points):
            self.leave(done)
            done += 1
        witnesses = tuple(self.witnesses())
        arcs = tuple(replace(arc, transfer=self.transfer(arc, again)) for arc, again in self.arcs)
        return RegisterAutomaton(
            tuple(Config(self.layout.places[point.place].variable, point.counts) for point in self.points),
            tuple(State(wait.config, ENDS[wait.strategy], self.told(wait)) for wait in self.waiting),
            tuple(self.entries),
            arcs,
            tuple(self.kills),
            tuple(self.exits),
            witnesses,
            tuple(rule.register for rule in self.registers),
            simultaneous=self.query.ties is Ties.SIMULTANEOUS,
        )

    def transfer(self, arc: Arc, again: bool) -> dict[Register, ex.Expression]:
        """What an arc assigns; which registers there are is known once all tests are."""
        changes = {
            rule.register: rule.change(arc.label, again=again, begin=arc.source is None) for rule in self.registers
        }
        return {register: value for register, value in changes.items() if value is not None}

    def told(self, wait: _Wait) -> str:
        """What a state waits for, in the words of the query."""
        places = self.layout.places
        takes = [f"one more {places[self.points[wait.config].place].variable}"] if wait.take is not None else []
        others = dict.fromkeys(places[m.target].variable for m in wait.others if m.target is not None)
        return " or ".join([*takes, *others])

    def number(self, point: _Point) -> int:
        if point not in self.points:
            if len(self.points) == MAX_CONFIGS:
                raise NotNative(f"more than {MAX_CONFIGS} states")
            self.points.append(point)
        return self.points.index(point)

    def leave(self, number: int) -> None:
        """The matches and the states of a config, and the arcs out of them."""
        config = self.points[number]
        for move in self.layout.moves[config.place]:
            if move.target is None:
                self.exit(number, move)
        states = [self.state(number, take, others) for take, others in self.waits(config)]
        self.entries.append(tuple(dict.fromkeys(at for at in states if at is not None)))

    def waits(self, config: _Point) -> Iterator[tuple[Move | None, tuple[Move, ...]]]:
        """After a Kleene event, one wait for take and all ways to proceed; else one for each way to go on.

        A loop that has had all its rounds takes no more: what follows is begun, as usual.
        """
        ahead = [move for move in self.layout.moves[config.place] if move.target is not None]
        leaves = tuple(move for move in ahead if move.leaves)
        for move in ahead:
            if move.repeats:
                again = next(mark.number for mark in move.marks if mark.step is MarkAction.AGAIN)
                if config.counts[again] == self.layout.loops[again].high:
                    yield from ((None, (other,)) for other in leaves)
                else:
                    yield move, leaves
            elif not move.leaves and not self.waits_with_others(move):
                yield None, (move,)
        together = tuple(m for m in ahead if not m.repeats and not m.leaves and self.waits_with_others(m))
        if together:
            yield None, together

    def waits_with_others(self, move: Move) -> bool:
        """Where every event may be ignored and none must be absent, no way disturbs another: one wait will do."""
        assert move.target is not None
        strategy = self.query.strategies[self.layout.places[move.target].variable]
        return strategy is Strategy.ANY and all(mark.step is not MarkAction.ABSENT for mark in move.marks)

    def state(self, number: int, take: Move | None, others: tuple[Move, ...]) -> int | None:
        """A state and its arcs; None where nothing can be done in it."""
        config = self.points[number]
        moves = [*([take] if take else []), *others]
        passable = [move for move in moves if self.passed(config, move.marks) is not None]
        if not passable or (take is not None and take not in passable and not others):
            return None
        places = self.layout.places
        strategies = {self.query.strategies[places[m.target].variable] for m in moves if m.target is not None}
        if len(strategies) > 1:
            raise NotNative("strategies that differ within a Kleene closure")
        state = _Wait(number, take, others, strategies.pop())
        if state in self.waiting:
            return self.waiting.index(state)
        self.waiting.append(state)
        at = len(self.waiting) - 1
        for move in passable:
            self.arc(at, config, move, decides=move is take if take is not None else True)
        for move in passable:
            for absent in (mark.number for mark in move.marks if mark.step is MarkAction.ABSENT):
                self.kill(at, number, move, absent)
        return at

    def arc(self, source: int | None, config: _Point, move: Move, *, decides: bool) -> None:
        """The arcs of a move, if its marks can be passed."""
        passed = self.passed(config, move.marks)
        if passed is None:
            return
        before, tests = passed
        assert move.target is not None
        spot = self.layout.places[move.target]
        variable = spot.variable
        again = variable in before.bound
        after = replace(
            before,
            place=move.target,
            bound=before.bound | {variable},
            reached=before.reached | {variable},
            now=before.now | {variable},
        )
        sight = Sight(self.query, self.registers, after, variable, again)
        fence = [*tests, *self.agreement(variable, begin=source is None)]
        for when, condition in self.query.placement.at_place.get(move.target, ()):
            if when is TestedAt.ALWAYS or (when is not TestedAt.FIRST) == again:
                test = sight.test(condition)
                if test is not None and isinstance(when, Nth):
                    other = ex.Compare("!=", self.registers.length(variable), Fixed(when.number - 1, INT))
                    test = replace(test, condition=ex.Or((other, test.condition)), unary=False)
                fence += [test] if test is not None else []
        target = self.number(after)
        if len(self.arcs) == MAX_ARCS:
            raise NotNative(f"more than {MAX_ARCS} arcs")
        unseen = tuple(self.absent(move, lasting=True)) if source is None else ()
        closing: tuple[Register, ...] = ()
        if source is not None:
            fence += self.after_last(variable)
            if self.closes(self.waiting[source]):
                closing = tuple(
                    self.registers.closed(m.number).register for m in move.marks if m.step is MarkAction.ABSENT
                )
        arc = Arc(source, target, variable, spot.event.types, tuple(fence), {}, decides, unseen, closing)
        self.arcs.append((arc, again))

    def after_last(self, variable: str) -> list[Test]:
        """S13: what comes next starts after the end of what precedes it."""
        if self.query.schema.start is None:
            return []
        condition = ex.Compare(">", Started(), self.registers.end())
        return [Test(condition, condition, variable, unary=False)]

    def closes(self, state: _Wait) -> bool:
        """Whether an absent event is noted, not acted on: what starts before it is over does not come after it."""
        if state.strategy in (Strategy.STRICT, Strategy.PARTITION):
            return False
        several = len(state.moves) > 1
        return self.query.schema.start is not None or (self.query.ties is Ties.SIMULTANEOUS and several)

    def absent(self, move: Move, *, lasting: bool) -> Iterator[int]:
        """What must be absent before a move, for a while that FOR says or as long as others say."""
        for mark in move.marks:
            if mark.step is MarkAction.ABSENT and (self.query.periods[mark.number] is not None) == lasting:
                yield mark.number

    def agreement(self, variable: str, *, begin: bool) -> Iterator[Test]:
        """`[attr]` where it does not split the stream: all agree with the first event."""
        for number, same in enumerate(self.query.same):
            type_ = self.query.schema.columns[same.attribute]
            value = Now(same.attribute, type_)
            if begin and same.value is not None:
                yield self.made(ex.Compare("=", value, same.value), same, variable)
            if self.keyed and begin:
                yield self.made(ex.IsNull(value, negated=True), same, variable)
            elif self.keyed:
                yield self.made(
                    ex.Compare("=", value, self.registers.key(number, same.attribute, type_)), same, variable
                )

    def made(self, condition: ex.Expression, same: ex.SameValue, variable: str) -> Test:
        alone = not any(isinstance(node, Held) for node in walk(condition))
        # In the terms of the query, for where it can't be inlined.
        attribute = ex.Attribute(variable, ex.Index.ONE, same.attribute)
        original = (
            ex.IsNull(attribute, negated=True)
            if isinstance(condition, ex.IsNull)
            else ex.Compare("=", attribute, same.value or attribute)
        )
        return Test(condition, original, variable, unary=alone)

    def passed(self, config: _Point, marks: Sequence[Mark]) -> tuple[_Point, list[Test]] | None:
        """A config behind some marks, and what must hold to pass them; None where a loop can't go on or be left."""
        tests: list[Test] = []
        for mark in marks:
            if mark.step is MarkAction.ABSENT:
                continue
            loop, count = self.layout.loops[mark.number], config.counts[mark.number]
            if (mark.step is MarkAction.AGAIN and count == loop.high) or (
                mark.step is MarkAction.EXIT and count < loop.low
            ):
                return None
            if mark.step in (MarkAction.ENTER, MarkAction.AGAIN):
                config = self.next_round(config, mark.number)
            config = replace(config, reached=config.reached | loop.variables)
            if mark.step in (MarkAction.EXIT, MarkAction.SKIP):
                sight = Sight(self.query, self.registers, config)
                exit_tests = [sight.test(c) for c in self.query.placement.at_exit.get(mark.number, ())]
                tests += [test for test in exit_tests if test is not None]
        return config, tests

    def next_round(self, config: _Point, number: int) -> _Point:
        """One round more, where that makes a difference; what the last round bound is no longer current."""
        loops = self.layout.loops
        cap = max(loops[number].low, loops[number].high or 1)
        counts = list(config.counts)
        counts[number] = min(counts[number] + 1, cap)
        for inner, other in enumerate(loops):
            if number in other.outer:
                counts[inner] = 0
        return replace(config, counts=tuple(counts), now=config.now - loops[number].variables)

    def kill(self, source: int, number: int, move: Move, negation: int) -> None:
        """What an absent event does to a run that waits: the way across the gap is closed."""
        state = self.waiting[source]
        if state.strategy in (Strategy.STRICT, Strategy.PARTITION):
            return  # nothing lies between neighbours
        self.check_early(move, negation)
        target, closes = None, None
        if self.closes(state):
            closes = self.registers.closed(negation).register
        elif state.take is not None and move is not state.take:
            rest = tuple(m for m in state.others if m is not move)
            target = self.state(number, state.take, rest)
        elif len(state.moves) > 1:
            raise NotNative("an absent event inside a repeated group")
        absent, fence = self.layout.negations[negation], self.witness(negation, self.points[number])
        kill = Kill(source, target, absent.event.types, fence, closes)
        if closes is None or kill not in self.kills:
            self.kills.append(kill)

    def check_early(self, move: Move, negation: int) -> None:
        """Whether all that an absent event is compared with is known while it may come."""
        others = {
            use.variable
            for condition in self.query.placement.of_witness.get(negation, ())
            for use in uses(condition)
            if not self.query.components[use.variable].negated
        }
        if others and self.layout.negations[negation].loops:
            raise NotNative("an absent event in a group, compared with others")
        if others & self.to_come(move):
            raise NotNative("an absent event, compared with a later one")

    def to_come(self, move: Move) -> frozenset[str]:
        """The variables that can be bound by a move and after it."""
        seen: set[int] = set()
        todo = [move.target]
        while todo:
            place = todo.pop()
            if place is not None and place not in seen:
                seen.add(place)
                todo += [m.target for m in self.layout.moves[place]]
        return frozenset(self.layout.places[place].variable for place in seen)

    def witness(self, negation: int, config: _Point) -> tuple[Test, ...]:
        """The tests of an absent event, against what a config has bound."""
        variable = self.layout.negations[negation].variable
        sight = Sight(self.query, self.registers, config, variable)
        witness_tests = [sight.test(c) for c in self.query.placement.of_witness.get(negation, ())]
        begin = config is self.blank
        after = () if begin else self.after_last(variable)
        return (*self.agreement(variable, begin=begin), *after, *(t for t in witness_tests if t is not None))

    def exit(self, number: int, move: Move) -> None:
        """A match, and what must be absent around it."""
        passed = self.passed(self.points[number], move.marks)
        if passed is None:
            return
        after, tests = passed
        sight = Sight(self.query, self.registers, after)
        tests += [sight.whole(condition) for condition in self.having]
        gives = {Register(r.name, r.type): sight.whole(r.expression).condition for r in self.results}
        absent = tuple(
            Absent(self.layout.negations[m.number].event.types, self.witness(m.number, after))
            for m in move.marks
            if m.step is MarkAction.ABSENT
        )
        if absent and any(self.layout.negations[m.number].loops for m in move.marks if m.step is MarkAction.ABSENT):
            raise NotNative("an absent event at the end of a repeated group")
        before = [frozenset(self.absent(start, lasting=False)) for start in self.layout.starts]
        leading = tuple(sorted(frozenset().union(*before)))
        if any(absent_before != set(leading) for absent_before in before):
            raise NotNative("an absent event before some of the ways to begin")
        lasting = bool(absent) and bool(self.query.ahead)
        if absent and not lasting:
            self.start = self.registers.start().register
        seen = tuple(self.registers.witness(negation).register for negation in leading)
        self.exits.append(Exit(number, tuple(tests), after.reached | after.bound, absent, lasting, seen, gives))

    def witnesses(self) -> Iterator[Witness]:
        """Events that must be absent before the first one."""
        for number in self.query.leading:
            conditions = self.query.placement.of_witness.get(number, ())
            variable = self.layout.negations[number].variable
            if self.keyed or any(use.variable != variable for c in conditions for use in uses(c)):
                raise NotNative("an absent event at the start, compared with others")
            if self.query.schema.start is not None:
                raise NotNative("an absent event before composite events")
            lasting = self.query.periods[number] is not None
            yield Witness(number, self.layout.negations[number].event.types, self.witness(number, self.blank), lasting)
