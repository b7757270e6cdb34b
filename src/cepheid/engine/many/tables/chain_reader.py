"""How the automaton of a template is read as a chain, or why it is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cepheid.automaton.algebra import BEGAN, ENDED
from cepheid.automaton.model import Arc, Ended, Ends, Exit, Held, Kill, Now, Register, RegisterAutomaton, Test, Time
from cepheid.engine.many.protocol import RULE
from cepheid.engine.many.tables.bounds import (
    MOST_VALUES,
    MOST_WAYS,
    bounds_of,
    is_bounds,
    is_constant,
    is_equality,
    is_of_rule,
    needs_python,
    parts_of,
    reads_text,
    ways_of,
)
from cepheid.engine.many.tables.chain import (
    Bounds,
    Chain,
    ChainStep,
    ChainWait,
    ComparisonForm,
    ComputedCondition,
    Constant,
    Copied,
    Fence,
    Key,
    NotChained,
    RuleConstant,
    SharedTest,
    Slot,
    TestConstant,
)
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.front.cesar.result import algebra_in
from cepheid.kernel.arguments import Mask
from cepheid.language import print_expression
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import BOOL, INT, Kind, Type
from cepheid.pattern.tree.nodes import Output, Ties
from cepheid.pattern.tree.partitioning import Partitioning
from cepheid.pattern.tree.walk import substitute, walk


def chain_of(compiled: CompiledQuery, window: str | None = None) -> Chain:
    """The chain of a joined template; raises NotChained. window: the column of the rules that has the window."""
    query = compiled.query
    if compiled.why_interpreted:
        raise NotChained(compiled.why_interpreted)
    if query.output is not Output.ALL or query.cooldown:
        raise NotChained("OUTPUT chooses among matches")
    if query.having is not None:
        raise NotChained("HAVING")
    if query.counted:
        raise NotChained("a window of events")
    if query.scope is not None:
        raise NotChained("a filter in FROM")
    if query.schema.roles.types is not None or query.schema.start is not None:
        raise NotChained("types with attributes of their own" if query.schema.start is None else "events that last")
    if query.ties is not Ties.ORDERED and query.body.ordered:
        raise NotChained("TIES SIMULTANEOUS")
    return _ChainReader(compiled, window).chain()


class _ChainReader:
    def __init__(self, compiled: CompiledQuery, window: str | None) -> None:
        self.compiled = compiled
        self.automaton: RegisterAutomaton = compiled.automaton
        self.window = window
        self.sources: dict[Register, Copied | ex.Expression] = {}
        self.slots: dict[object, Slot] = {}  # what is held, by where it comes from
        self.loads: dict[int, dict[int, ex.Expression]] = {}  # by step: the slots that it fills
        self.partition = self._partition()

    def chain(self) -> Chain:
        automaton = self.automaton
        if automaton.own:
            raise NotChained("an automaton of one's own")
        if automaton.witnesses or len(automaton.exits) != 1:
            raise NotChained("an absence before the first event" if automaton.witnesses else "several ways to end")
        exit_ = automaton.exits[0]
        if exit_.fence or exit_.absent or exit_.lasting or exit_.witnesses:
            raise NotChained("an absence after the last event")
        arcs = list(self._path(exit_))
        fences: list[Fence] = []
        waits: list[ChainWait] = []
        for number, arc in enumerate(arcs):
            fences.append(self._fence(arc))
            self._hold(arc, number)
            if number + 1 < len(arcs):
                waits.append(self._wait(arc))
        results = tuple(self._results(exit_)) if automaton.valued else ()
        steps = [
            ChainStep(fence, self._transfer(k, len(arcs), results), wait)
            for k, (fence, wait) in enumerate(zip(fences, [*waits, None], strict=True))
        ]
        slots = tuple(slot.type for slot in self.slots.values())
        if len(slots) > 60:
            raise NotChained("more than 60 values to hold")
        labels = tuple(arc.label for arc in arcs)
        return Chain(tuple(steps), self.partition, slots, results, automaton.simultaneous, automaton.valued, labels)

    def _partition(self) -> Key | None:
        partitions = self.compiled.query.partitions
        columns = tuple(name for name in partitions.columns if name != RULE)
        agreed = tuple(name for name in partitions.agreed if name != RULE)
        if not columns and not agreed:
            return None
        return Key(ComparisonForm.PARTITION, partitions=Partitioning(columns, agreed, partitions.one_key))

    def _path(self, exit_: Exit) -> Iterator[Arc]:
        """The arcs from the beginning to the end, which must be the only ones that lead on."""
        automaton = self.automaton
        begin = [arc for arc in automaton.arcs if arc.source is None]
        if len(begin) != 1 or begin[0].unseen:
            raise NotChained("several ways to begin")
        arc, number = begin[0], 0
        while True:
            yield arc
            if arc.closing:
                raise NotChained("instants that close arcs")
            states = automaton.entries[arc.target]
            if arc.target == exit_.config:
                if states:
                    raise NotChained("a match that goes on")
                return
            if len(states) != 1:
                raise NotChained("several ways to go on")
            onward = [
                leaving
                for leaving in self._leaving(states[0])
                if not self._is_dead(leaving) and not self._stays(leaving)
            ]
            if len(onward) != 1 or automaton.states[states[0]].config != arc.target:
                raise NotChained("several ways to go on")
            arc, number = onward[0], number + 1
            if number > 60 or arc.target in (leaving.target for leaving in begin):
                raise NotChained("a loop")

    def _leaving(self, state: int) -> list[Arc]:
        return [arc for arc in self.automaton.arcs if arc.source == state]

    def _stays(self, arc: Arc) -> bool:
        """Whether a run that takes an arc is what it was before, as with an ITERATE of which nothing is kept."""
        changed = [value for value in arc.transfer.values() if not isinstance(value, Now) or value.column != RULE]
        return self.automaton.valued and self.automaton.entries[arc.target] == (arc.source,) and not changed

    def _is_dead(self, arc: Arc) -> bool:
        return not self.automaton.entries[arc.target] and arc.target != self.automaton.exits[0].config

    # Registers: most are copies of a column, which the event itself still has.

    def _hold(self, arc: Arc, number: int) -> None:
        new: dict[Register, Copied | ex.Expression] = {}
        for register, value in arc.transfer.items():
            if isinstance(value, Held):
                new[register] = self.sources[value.register]
            elif isinstance(value, Now):
                new[register] = Copied(number, value.column)
            elif isinstance(value, Ended | Time):
                new[register] = value if number == 0 and register.name in ("start", "end") else self._ended(register)
            else:
                new[register] = self._computed(value, register, number)
        self.sources |= new

    def _ended(self, register: Register) -> ex.Expression:
        if register.name in (f"out_{ENDED}", "end"):
            return Ended()
        raise NotChained("the time of an event is held")

    def _computed(self, value: ex.Expression, register: Register, number: int) -> Slot:
        """A value of its own: what it reads must be held before."""
        read = self._resolved(value)
        if any(isinstance(node, Now) and is_constant(node.column) for node in walk(read)):
            raise NotChained("a constant of the rule is held")
        slot = self._slot((number, register), register.type)
        self.loads.setdefault(number, {})[slot.number] = read
        return slot

    def _slot(self, key: object, type_: Type) -> Slot:
        if type_.kind is Kind.STRING:
            raise NotChained("a text is held")
        if key not in self.slots:
            self.slots[key] = Slot(len(self.slots), type_)
        return self.slots[key]

    def _transfer(self, step: int, steps: int, results: Sequence[object]) -> tuple[tuple[int, ex.Expression], ...]:
        """What a step holds: its own values, and those of the steps before it."""
        slots = {slot.number: slot for slot in self.slots.values()}
        kept = {number: slots[number] for k in range(step) for number in self.loads.get(k, {})}
        held = {**kept, **self.loads.get(step, {})}
        if step == steps - 1:
            held = {number: value for number, value in held.items() if slots[number] in results}
        return tuple(sorted(held.items(), key=lambda item: item[0]))

    def _resolved(self, node: ex.Expression) -> ex.Expression:
        """An expression with slots in place of registers."""

        def read(part: ex.Expression) -> ex.Expression | None:
            if isinstance(part, Held):
                source = self.sources[part.register]
                if isinstance(source, Copied) and is_constant(source.column):
                    return Now(source.column, part.register.type)  # the rule has it at every event
                if isinstance(source, Copied):
                    slot = self._slot(source, part.register.type)
                    self.loads.setdefault(source.step, {})[slot.number] = Now(source.column, part.register.type)
                    return slot
                if isinstance(source, Slot):
                    return source
                raise NotChained("the time of an event is compared")
            if isinstance(part, Now) and part.type.kind is Kind.STRING:
                raise NotChained("a text is compared with another one")
            return None

        self._check_computed(node)
        return substitute(node, read)

    def _check_computed(self, node: ex.Expression) -> None:
        """Columns that are computed for a batch are the same for all rules."""
        derived = self.compiled.derived
        for part in walk(node):
            if isinstance(part, Now) and part.column in derived and any(map(is_constant, derived[part.column].reads)):
                raise NotChained("a constant of the rule in what is computed of an event")

    def _results(self, exit_: Exit) -> Iterator[Copied | Slot]:
        """The attributes of a result, without its times."""
        values = [value for register, value in exit_.gives.items() if register.name not in (BEGAN, ENDED)]
        for value, type_ in zip(values, algebra_in(self.compiled.query).types, strict=True):
            assert isinstance(value, Held)
            source = self.sources[value.register]
            if not isinstance(source, Copied | Slot):
                raise NotChained("the time of an event is given")
            yield self._of_event(source, type_) if isinstance(source, Copied) else source

    def _of_event(self, source: Copied, type_: Type) -> Copied:
        """What a result has of an event, which must be a column of it: nothing that is computed is kept."""
        column = source.column
        if column in self.compiled.derived:
            if type_.kind is not Kind.DECIMAL:
                raise NotChained("a text that is computed is given")
            (column,) = self.compiled.derived[column].reads  # kernels have it as a text; here it need not be one
        if column != RULE and is_constant(column):
            raise NotChained("a constant of the rule is given")
        return Copied(source.step, column)

    # Conditions.

    def _wait(self, arc: Arc) -> ChainWait:
        (state,) = self.automaton.entries[arc.target]
        ends = self.automaton.states[state].ends
        query = self.compiled.query
        lasts: Constant | None = None
        if query.window is not None:
            lasts = ex.Literal(query.window, INT) if self.window is None else RuleConstant(self.window, INT)
        for kill in self.automaton.kills:
            if kill.source == state:
                lasts = self._longest(kill)
        dead = [leaving for leaving in self._leaving(state) if self._is_dead(leaving) and leaving.decides]
        (onward,) = (
            leaving for leaving in self._leaving(state) if not self._is_dead(leaving) and not self._stays(leaving)
        )
        if again := [leaving for leaving in self._leaving(state) if self._stays(leaving)]:
            if dead or any(not leaving.decides or leaving.types != onward.types for leaving in again):
                raise NotChained("several ways to go on")
            return ChainWait(Ends.NOTHING, lasts)  # what ends the wait begins it again
        if ends is not Ends.DECISION or (onward.decides and not dead):
            return ChainWait(ends, lasts)
        if len(dead) != 1 or onward.decides:
            raise NotChained("several ways to end a wait")
        return ChainWait(ends, lasts, self._fence(dead[0], choose=False))

    def _longest(self, kill: Kill) -> Constant:
        """`Ended - start > bound` of a state of CESAR."""
        match kill:
            case Kill(target=None, types=(), closes=None, fence=(Test(condition=ex.Compare() as condition),)):
                if condition.operator == ">" and isinstance(condition.left, ex.Arithmetic):
                    bound = condition.right
                    if isinstance(bound, ex.Literal) and isinstance(bound.value, int):
                        return ex.Literal(bound.value + 1, INT)
        raise NotChained("an absence between events")

    def _fence(self, arc: Arc, *, choose: bool = True) -> Fence:
        """What an arc asks; choose: whether it may have a choice."""
        for conjunct in arc.fence:
            self._check_computed(conjunct.condition)
        bounds: list[Bounds] = []
        tests: list[SharedTest] = []
        if self.compiled.query.schema.roles.type is not None and arc.types:
            if len(arc.types) > 1:
                raise NotChained("a step of several types")
            type_ = self.compiled.query.schema.columns[self.compiled.query.schema.roles.type]
            bounds.append(Bounds(Key(ComparisonForm.TYPE, kind=Kind.STRING), "=", ex.Literal(arc.types[0], type_)))
        parts: list[ex.Expression] = []
        known = any(map(is_equality, (part for test in arc.fence for part in parts_of(test.condition))))
        for conjunct in arc.fence:
            if self._is_computed(conjunct, known=known):
                bounds.append(self._computed_before(conjunct))
                continue
            parts += [
                part
                for part in parts_of(conjunct.condition)
                if not self._lasts_no_longer(part, arc.source) and not self._is_known(part)
            ]
        choices: list[tuple[ex.Expression, list[list[ex.Expression]]]] = []
        for part in parts:
            part_bounds = list(bounds_of(part))
            ways = [] if part_bounds or not choose else ways_of(part)
            if part_bounds:
                bounds += part_bounds
            elif len(ways) > 1 and all(any(map(is_bounds, way)) for way in ways):
                choices.append((part, ways))
            else:
                tests.append(self._test(part))
        chosen = self._chosen(choices, bounds, tests)  # which may add tests
        return Fence(tuple(dict.fromkeys(bounds)), tuple(tests), chosen)

    def _is_computed(self, conjunct: Test, *, known: bool) -> bool:
        """Whether no code can test a condition on one event, such as LIKE; and it is the same for all rules.

        known: a rule has an equality, so that a choice need not be looked up.
        """
        if not conjunct.unary or any(isinstance(n, Now) and is_constant(n.column) for n in walk(conjunct.condition)):
            return False
        for part in parts_of(conjunct.condition):
            if not is_bounds(part) and needs_python(part):
                ways = ways_of(part)
                simple = all(is_bounds(operand) or not needs_python(operand) for way in ways for operand in way)
                if not ways or not simple or known:
                    return True
        return False

    def _computed_before(self, conjunct: Test) -> Bounds:
        query, component = self.compiled.query, self.compiled.query.components.get(conjunct.variable)
        named = substitute(conjunct.condition, lambda n: ex.Name(n.column) if isinstance(n, Now) else None)
        called = {n.function for n in walk(conjunct.condition) if isinstance(n, ex.Call)}
        if called & query.functions.keys():
            # It may raise an error for an event that another condition keeps from it.
            raise NotChained("a function of one's own")
        computed = ComputedCondition(
            print_expression(named),
            component.types if component is not None else (),
            query,
            Mask(conjunct.original, conjunct.variable),
        )
        return Bounds(Key(ComparisonForm.MASK, kind=Kind.BOOL, computed=computed), "=", ex.Literal(True, BOOL))

    def _chosen(
        self,
        choices: list[tuple[ex.Expression, list[list[ex.Expression]]]],
        bounds: list[Bounds],
        tests: list[SharedTest],
    ) -> tuple[Fence, ...]:
        """The ways of choices that are to be looked up, of several all combinations; others become tests."""
        # A test can't compare texts. Where a rule has an equality already, few ways are worth it, and many are not.
        choices = sorted(choices, key=lambda choice: (not reads_text(choice[0]), -len(choice[1])))
        combinations: list[list[ex.Expression]] = [[]]
        known = any(map(is_of_rule, bounds))
        for part, ways in choices:
            alone = combinations == [[]] and isinstance(part, ex.In) and (not known or reads_text(part))
            most = MOST_VALUES if alone else MOST_WAYS
            if len(combinations) * len(ways) > most or (known and not reads_text(part)):
                tests.append(self._test(part))
            else:
                combinations = [[*chosen, *way] for chosen in combinations for way in ways]
        return tuple(self._way(way) for way in combinations) if len(combinations) > 1 else ()

    def _way(self, parts: Sequence[ex.Expression]) -> Fence:
        bounds = [bound for part in parts for bound in bounds_of(part)]
        tests = [self._test(part) for part in parts if not is_bounds(part)]
        return Fence(tuple(dict.fromkeys(bounds)), tuple(tests))

    def _is_known(self, part: ex.Expression) -> bool:
        """Whether the tables see to it: they keep rules apart, and runs no longer than their windows."""
        return self._is_own_rule(part) or any(
            isinstance(node, Now) and node.column == self.window for node in walk(part)
        )

    def _test(self, part: ex.Expression) -> SharedTest:
        constants: list[Constant] = []

        def take(node: ex.Expression) -> ex.Expression | None:
            if isinstance(node, Now) and is_constant(node.column):
                constants.append(RuleConstant(node.column, node.type))
                return TestConstant(len(constants) - 1, node.type)
            return None

        condition = substitute(self._resolved(part), take)
        if any(constant.type.kind is Kind.STRING for constant in constants):
            raise NotChained("a text is compared with another one")
        return SharedTest(condition, tuple(constants))

    def _lasts_no_longer(self, part: ex.Expression, state: int | None) -> bool:
        """Whether a condition says how long a run may last, and the wait in a state is over by then."""
        match part:
            case ex.Compare(
                operator="<=" | "<" as operator,
                left=ex.Arithmetic(operator="-", left=Ended(), right=Held(register=start)),
                right=ex.Literal(value=int(most)),
            ) if start.name == "start":
                bounds = [self._longest(kill) for kill in self.automaton.kills if kill.source == state]
                known = [bound.value for bound in bounds if isinstance(bound, ex.Literal)]
                return any(isinstance(length, int) and length <= most + (operator == "<=") for length in known)
        return False

    def _is_own_rule(self, part: ex.Expression) -> bool:
        """Whether a condition keeps rules apart, as the tables do."""
        if not isinstance(part, ex.Compare) or part.operator != "=":
            return False
        held = [side for side in (part.left, part.right) if isinstance(side, Held)]
        rules = [side for side in (part.left, part.right) if isinstance(side, Now) and side.column == RULE]
        return len(held) == len(rules) == 1 and getattr(self.sources[held[0].register], "column", None) == RULE
