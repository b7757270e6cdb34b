"""From a bound query to its automaton: all that the layout says, with every choice that can be settled now settled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from cepheid.automaton.ambiguity import is_ambiguous
from cepheid.automaton.liveness import START, find_live
from cepheid.automaton.model import (
    Arc,
    Automaton,
    Config,
    Exit,
    Held,
    Holds,
    Kill,
    NotNative,
    Now,
    Register,
    State,
    Test,
    Update,
    Witness,
)
from cepheid.automaton.resolve import Sight
from cepheid.pattern import expressions as ex
from cepheid.pattern.bind import Bound
from cepheid.pattern.layout import Mark, Move, Step
from cepheid.pattern.placement import When
from cepheid.pattern.tree import Strategy, Ties
from cepheid.pattern.types import Type
from cepheid.pattern.uses import uses
from cepheid.pattern.walk import walk
from cepheid.values.bindings import NOTHING
from cepheid.values.evaluate import Compiler

MAX_CONFIGS = MAX_ARCS = 128
"""A larger automaton would take longer to compile than to run."""


def build(query: Bound) -> Automaton:
    """The automaton of a query, or the reason why there is none."""
    _check(query)
    automaton = _Builder(query).build()
    return replace(find_live(automaton), ambiguous=is_ambiguous(automaton))


def _check(query: Bound) -> None:
    strategies = set(query.strategies.values())
    if query.ties is Ties.SIMULTANEOUS:
        raise NotNative("TIES SIMULTANEOUS")
    if query.schema.start is not None:
        raise NotNative("composite events")
    if query.same and query.schema.roles.types is not None:
        raise NotNative("[attr] with declared types")
    if query.same and Strategy.STRICT in strategies and len(strategies) > 1:
        raise NotNative("[attr] with strict_contiguity for some variables")


class _Builder:
    """The tables under construction."""

    def __init__(self, query: Bound) -> None:
        self.query = query
        self.layout = query.layout
        self.configs: list[Config] = []
        self.states: list[State] = []
        self.arcs: list[Arc] = []
        self.kills: list[Kill] = []
        self.exits: list[Exit] = []
        self.entries: list[tuple[int, ...]] = []  # of each config, in the order of their numbers
        self.keyed = bool(query.same) and Strategy.STRICT in query.strategies.values()
        self.blank = Config(-1, frozenset(), frozenset(), frozenset(), (0,) * len(self.layout.loops))

    def build(self) -> Automaton:
        constants = all(Compiler(self.query).condition(c)(NOTHING) for c in self.query.placement.constant)
        for move in self.layout.starts if constants else ():
            self.arc(None, self.blank, move, decides=False)
        done = 0
        while done < len(self.configs):
            self.leave(done)
            done += 1
        return Automaton(
            self.query,
            tuple(self.configs),
            tuple(self.states),
            tuple(self.entries),
            tuple(self.arcs),
            tuple(self.kills),
            tuple(self.exits),
            tuple(self.witnesses()),
            self.registers(),
        )

    def number(self, config: Config) -> int:
        if config not in self.configs:
            if len(self.configs) == MAX_CONFIGS:
                raise NotNative(f"more than {MAX_CONFIGS} states")
            self.configs.append(config)
        return self.configs.index(config)

    def leave(self, number: int) -> None:
        """The matches and the states of a config, and the arcs out of them."""
        config = self.configs[number]
        for move in self.layout.moves[config.place]:
            if move.target is None:
                self.exit(number, move)
        found = [self.state(number, take, others) for take, others in self.waits(config)]
        self.entries.append(tuple(dict.fromkeys(at for at in found if at is not None)))

    def waits(self, config: Config) -> Iterator[tuple[Move | None, tuple[Move, ...]]]:
        """After a Kleene event, one wait for take and all ways to proceed; else one for each way to go on.

        A loop that has had all its rounds takes no more: what follows is begun, as usual.
        """
        ahead = [move for move in self.layout.moves[config.place] if move.target is not None]
        leaves = tuple(move for move in ahead if move.leaves)
        for move in ahead:
            if move.repeats:
                again = next(mark.number for mark in move.marks if mark.step is Step.AGAIN)
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
        return strategy is Strategy.ANY and all(mark.step is not Step.ABSENT for mark in move.marks)

    def state(self, number: int, take: Move | None, others: tuple[Move, ...]) -> int | None:
        """A state and its arcs; None where nothing can be done in it."""
        config = self.configs[number]
        moves = [*([take] if take else []), *others]
        passable = [move for move in moves if self.passed(config, move.marks) is not None]
        if not passable or (take is not None and take not in passable and not others):
            return None
        places = self.layout.places
        strategies = {self.query.strategies[places[m.target].variable] for m in moves if m.target is not None}
        if len(strategies) > 1:
            raise NotNative("strategies that differ within a Kleene closure")
        state = State(number, take, others, strategies.pop())
        if state in self.states:
            return self.states.index(state)
        self.states.append(state)
        at = len(self.states) - 1
        for move in passable:
            self.arc(at, config, move, decides=move is take if take is not None else True)
        for move in passable:
            for absent in (mark.number for mark in move.marks if mark.step is Step.ABSENT):
                self.kill(at, number, move, absent)
        return at

    def arc(self, source: int | None, config: Config, move: Move, *, decides: bool) -> None:
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
        sight = Sight(self.query, after, variable, again)
        fence = [*tests, *self.agreement(variable, begin=source is None)]
        for when, condition in self.query.placement.at_place.get(move.target, ()):
            if when is When.ALWAYS or (when is When.LATER) == again:
                test = sight.test(condition)
                fence += [test] if test is not None else []
        target = self.number(after)
        if len(self.arcs) == MAX_ARCS:
            raise NotNative(f"more than {MAX_ARCS} arcs")
        transfer = _Transfer(variable, again, begin=source is None)
        self.arcs.append(Arc(source, target, variable, spot.event.types, tuple(fence), transfer, decides))

    def agreement(self, variable: str, *, begin: bool) -> Iterator[Test]:
        """`[attr]` where it does not split the stream: all agree with the first event."""
        for number, same in enumerate(self.query.same):
            type_ = self.query.schema.columns[same.attribute]
            now = Now(same.attribute, type_)
            if begin and same.value is not None:
                yield self.made(ex.Compare("=", now, same.value), same, variable)
            if self.keyed and begin:
                yield self.made(ex.IsNull(now, negated=True), same, variable)
            elif self.keyed:
                yield self.made(ex.Compare("=", now, Held(_key(number, same), type_)), same, variable)

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

    def passed(self, config: Config, marks: Sequence[Mark]) -> tuple[Config, list[Test]] | None:
        """A config behind some marks, and what must hold to pass them; None where a loop can't go on or be left."""
        tests: list[Test] = []
        for mark in marks:
            if mark.step is Step.ABSENT:
                continue
            loop, count = self.layout.loops[mark.number], config.counts[mark.number]
            if (mark.step is Step.AGAIN and count == loop.high) or (mark.step is Step.EXIT and count < loop.low):
                return None
            if mark.step in (Step.ENTER, Step.AGAIN):
                config = self.next_round(config, mark.number)
            config = replace(config, reached=config.reached | loop.variables)
            if mark.step in (Step.EXIT, Step.SKIP):
                sight = Sight(self.query, config)
                found = [sight.test(c) for c in self.query.placement.at_exit.get(mark.number, ())]
                tests += [test for test in found if test is not None]
        return config, tests

    def next_round(self, config: Config, number: int) -> Config:
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
        state = self.states[source]
        if state.strategy in (Strategy.STRICT, Strategy.PARTITION):
            return  # nothing lies between neighbours
        self.check_early(move, negation)
        target = None
        if state.take is not None and move is not state.take:
            rest = tuple(m for m in state.others if m is not move)
            target = self.state(number, state.take, rest)
        elif len(state.moves) > 1:
            raise NotNative("an absent event inside a repeated group")
        absent = self.layout.negations[negation]
        self.kills.append(Kill(source, target, absent.event.types, self.witness(negation, self.configs[number])))

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

    def witness(self, negation: int, config: Config) -> tuple[Test, ...]:
        """The tests of an absent event, against what a config has bound."""
        variable = self.layout.negations[negation].variable
        sight = Sight(self.query, config, variable)
        found = [sight.test(c) for c in self.query.placement.of_witness.get(negation, ())]
        return (*self.agreement(variable, begin=config is self.blank), *(t for t in found if t is not None))

    def exit(self, number: int, move: Move) -> None:
        """A match, and what must be absent around it."""
        passed = self.passed(self.configs[number], move.marks)
        if passed is None:
            return
        after, tests = passed
        absent = tuple(
            Kill(-1, None, self.layout.negations[m.number].event.types, self.witness(m.number, after))
            for m in move.marks
            if m.step is Step.ABSENT
        )
        if absent and any(self.layout.negations[m.number].loops for m in move.marks if m.step is Step.ABSENT):
            raise NotNative("an absent event at the end of a repeated group")
        leading = tuple(sorted({m.number for s in self.layout.starts for m in s.marks if m.step is Step.ABSENT}))
        if any({m.number for m in s.marks if m.step is Step.ABSENT} != set(leading) for s in self.layout.starts):
            raise NotNative("an absent event before some of the ways to begin")
        self.exits.append(Exit(number, tuple(tests), after.reached | after.bound, absent, leading))

    def witnesses(self) -> Iterator[Witness]:
        """Events that must be absent before the first one."""
        for number in dict.fromkeys(
            mark.number for move in self.layout.starts for mark in move.marks if mark.step is Step.ABSENT
        ):
            conditions = self.query.placement.of_witness.get(number, ())
            variable = self.layout.negations[number].variable
            if self.keyed or any(use.variable != variable for c in conditions for use in uses(c)):
                raise NotNative("an absent event at the start, compared with others")
            yield Witness(number, self.layout.negations[number].event.types, self.witness(number, self.blank))

    def registers(self) -> dict[Register, Type]:
        """Every register that a test reads."""
        fences = [arc.fence for arc in self.arcs] + [kill.fence for kill in self.kills]
        fences += [fence for e in self.exits for fence in (e.fence, *(kill.fence for kill in e.absent))]
        found = {
            node.register: node.type
            for fence in fences
            for test in fence
            for node in walk(test.condition)
            if isinstance(node, Held)
        }
        for one in self.exits:
            time = self.query.schema.columns[self.query.schema.roles.time]
            if one.absent:
                found[START] = time
            for negation in one.witnesses:
                found[Register(Holds.WITNESS, number=negation)] = time
        return found


def _key(number: int, same: ex.SameValue) -> Register:
    return Register(Holds.KEY, column=same.attribute, number=number)


class _Transfer(dict[Register, Update]):
    """What an arc does to each register: found by what the register holds."""

    def __init__(self, variable: str, again: bool, *, begin: bool) -> None:
        super().__init__()
        self.variable, self.again, self.begin = variable, again, begin

    def __missing__(self, register: Register) -> Update:
        if register.holds in (Holds.KEY, Holds.START, Holds.WITNESS):
            return Update.SET if self.begin else Update.KEEP
        if register.variable != self.variable:
            return Update.KEEP
        if register.holds is Holds.FIRST:
            return Update.KEEP if self.again else Update.SET
        if register.holds is Holds.LAST:
            return Update.SET
        return Update.STEP if self.again else Update.BEGIN
