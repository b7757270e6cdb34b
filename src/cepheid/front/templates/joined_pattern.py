"""Patterns and automata on a joined stream: each condition reads the rule of an event that is bound by then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from cepheid.front.automata.bound import BoundArc, automaton_in
from cepheid.front.automata.registers import EVENT, FIRST
from cepheid.front.runnable import Body, Runnable
from cepheid.front.templates.rule_columns import RULE, WINDOW, NotJoinedError, Target, attribute, constants_in, put
from cepheid.pattern.binding.placement import Placement, TestedAt
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.paths import read_path
from cepheid.pattern.expressions.sampled import SampledLiteral
from cepheid.pattern.tree.components import Component
from cepheid.pattern.tree.layout import Loop
from cepheid.pattern.tree.nodes import AnyOrder, Either, EventPattern, Fires, Output, PatternTree, Repeat, Seq, Strategy
from cepheid.pattern.tree.scope import EVENT as SEEN
from cepheid.pattern.tree.scope import VisibleEvents
from cepheid.pattern.tree.uses import uses
from cepheid.pattern.tree.walk import substitute, walk

_AT_HAND = (ex.Index.ONE, ex.Index.EACH, ex.Index.CURRENT, ex.Index.FIRST)


class JoinedPattern:
    """The conditions of a SASE+ query on a joined stream: each reads the rule of an event that it is tested on."""

    limits: Mapping[str, int] = MappingProxyType({})  # of the columns, what no rule of the variant exceeds

    def __init__(self, query: Runnable, *, windowed: bool) -> None:
        if query.schema.start is not None and windowed:
            raise NotJoinedError("the window of events that last")
        self.query = query
        self.windowed = windowed
        self.layout = query.layout
        self.sure = certain(query.pattern)

    def bound(self, schema: Schema) -> Runnable:
        """The query on events that have the columns of a rule."""
        query = self.query
        _check_same(query)
        return query.with_parts(
            body=self.body(),
            schema=schema,
            placement=self.placement(),
            same=tuple(replace(test, value=_kept(test)) for test in query.same if not _is_needless(test, query)),
            partition_by=(RULE, *query.partition_by),
            having=query.having and self.complete(query.having),
            returns=tuple(replace(result, expression=self.complete(result.expression)) for result in query.returns),
            typer=replace(query.typer, schema=schema),
            scope=query.scope and _joined_scope(query.scope),
            reads=(*query.reads, *(name for name in schema.columns if name in schema.constants)),
        )

    def body(self) -> Body:
        """What runs: the layout stays as it is."""
        return self.query.body

    def placement(self) -> Placement:
        """The conditions, where they were."""
        placed = self.query.placement
        at_place = {
            number: [(when, self.at(number, when, condition)) for when, condition in tests]
            for number, tests in placed.at_place.items()
        }
        absent = [attribute(negation.variable, ex.Index.ONE) for negation in self.layout.negations]
        of_witness = {n: [put(condition, absent[n]) for condition in tests] for n, tests in placed.of_witness.items()}
        for test in self.query.same:
            if isinstance(test.value, SampledLiteral):
                for number, spot in enumerate(self.layout.places):
                    read, when = self.current(spot.variable)
                    at_place.setdefault(number, []).append((when, self.fixed(test, spot.variable, read)))
                for number, negation in enumerate(self.layout.negations):
                    of_witness.setdefault(number, []).append(self.fixed(test, negation.variable, ex.Index.ONE))
        decided = [condition for condition in placed.constant if constants_in(condition)]
        for condition in decided:  # by the rule alone: no run begins where it is not TRUE
            for begun in dict.fromkeys(move.target for move in self.layout.starts if move.target is not None):
                variable = self.layout.places[begun].variable
                read, when = self.current(variable)
                at_place.setdefault(begun, []).append((when, put(condition, attribute(variable, read))))
        if self.windowed:
            for number, test_at, condition in self.window():
                at_place.setdefault(number, []).append((test_at, condition))
        return Placement(
            {number: tuple(tests) for number, tests in at_place.items()},
            {
                number: tuple(put(condition, self.at_exit(number, condition)) for condition in tests)
                for number, tests in placed.at_exit.items()
            },
            {number: tuple(tests) for number, tests in of_witness.items()},
            tuple(condition for condition in placed.constant if not constants_in(condition)),
        )

    def component(self, variable: str) -> Component:
        """A variable of the pattern."""
        return self.query.components[variable]

    def current(self, variable: str) -> tuple[ex.Index, TestedAt]:
        """The event that is bound to a variable, each of them where there are several."""
        return (ex.Index.EACH if self.component(variable).indexed else ex.Index.ONE), TestedAt.ALWAYS

    def at(self, number: int, when: TestedAt | ex.Nth, condition: ex.Expression) -> ex.Expression:
        """A condition that is tested when an event is bound reads the rule of that event."""
        if not constants_in(condition):
            return condition
        variable = self.layout.places[number].variable
        indexes = [use.index for use in uses(condition) if use.variable == variable and not use.whole]
        index: ex.AnyIndex = next((i for i in indexes if i in _AT_HAND or isinstance(i, ex.Nth)), ex.Index.ONE)
        if when is TestedAt.LATER:
            index = ex.Index.CURRENT
        elif when is TestedAt.FIRST:
            index = ex.Index.FIRST
        elif isinstance(when, ex.Nth):
            index = when
        if not indexes:
            index = self.current(variable)[0]
        return put(condition, attribute(variable, index))

    def at_exit(self, number: int, condition: ex.Expression) -> Target:
        """What is tested when a repetition is left reads the rule of an event that is bound by then."""
        loop: Loop = self.layout.loops[number]
        ordered = not any(isinstance(node, AnyOrder) for node in walk(self.query.pattern))
        sure = [v for v in self.sure if v in loop.variables or (ordered and v not in loop.later)]
        if not sure and constants_in(condition):
            named = (c.parameter for c in constants_in(condition))
            raise NotJoinedError("a condition on a repetition that may be empty", named)
        return self.first_of(sure[0]) if sure else attribute("", ex.Index.ONE)

    def first_of(self, variable: str) -> Target:
        """The rule of the first event that is bound to a variable."""
        array = self.component(variable).array
        return attribute(variable, ex.Index.FIRST if array else ex.Index.ONE)

    def complete(self, node: ex.Expression) -> ex.Expression:
        """What reads the complete match reads the rule of an event that every match has, or of any that it has."""
        if not constants_in(node):
            return node
        if self.sure:
            return put(node, self.first_of(self.sure[0]))
        targets = [self.first_of(component.variable) for component in self.query.positive]
        return put(node, lambda column: ex.Call("coalesce", tuple(target(column) for target in targets)))

    def fixed(self, test: ex.SameValue, variable: str, index: ex.AnyIndex) -> ex.Expression:
        """`[attr = parameter]` of one event."""
        assert isinstance(test.value, SampledLiteral)

        def own(part: ex.Expression) -> ex.Expression | None:
            return replace(part, index=index) if isinstance(part, ex.Attribute) else None

        read = substitute(read_path(self.query.schema.path(test.attribute), variable, test.span), own)
        return ex.Compare("=", read, ex.Attribute(variable, index, test.value.column), span=test.span)

    def window(self) -> Iterator[tuple[int, TestedAt, ex.Expression]]:
        """Each later event is within the window of the rule."""
        query, time = self.query, self.query.schema.roles.time
        starts = {self.layout.places[m.target].variable for m in self.layout.starts if m.target is not None}
        if len(starts) != 1 or not starts <= set(self.sure):
            raise NotJoinedError("the window of a pattern that begins with one of several events")
        (first,) = starts
        begun = self.component(first)
        if begun.array and not begun.indexed:
            raise NotJoinedError("the window of a group that repeats")
        if not query.timed or query.trailing or query.leading or query.output is Output.LONGEST:
            raise NotJoinedError("a window that says more than how far events are apart")
        start = ex.Attribute(first, ex.Index.FIRST if begun.array else ex.Index.ONE, time)
        for number, spot in enumerate(self.layout.places):
            index, when = self.current(spot.variable)
            if spot.variable == first:
                if not begun.array:
                    continue
                index, when = ex.Index.CURRENT, TestedAt.LATER
            passed = ex.Arithmetic("-", ex.Attribute(spot.variable, index, time), start)
            yield number, when, ex.Compare("<", passed, ex.Attribute(spot.variable, index, WINDOW))


class JoinedAutomaton(JoinedPattern):
    """The same of an automaton of the user's own: an arc has an event at hand, or all of an instant."""

    def body(self) -> Body:
        """Its arcs read the rules of their events."""
        return automaton_in(self.query).rewritten_arcs(self.arc)

    def placement(self) -> Placement:
        """It has no conditions but those of its arcs."""
        if self.windowed:
            raise NotJoinedError("the window of an automaton")
        return self.query.placement

    def arc(self, arc: BoundArc) -> BoundArc:
        """An arc that reads the rule of its event."""

        def change(node: ex.Expression) -> ex.Expression:
            if not constants_in(node):
                return node
            if arc.fires is Fires.EVENT:
                return put(node, attribute(EVENT, ex.Index.ONE))
            if arc.fires is Fires.INSTANT:
                return put(node, lambda c: ex.AggregateCall("first", ex.Attribute(EVENT, ex.Index.EACH, c)))
            raise NotJoinedError("an arc that has no event", (c.parameter for c in constants_in(node)))

        values = {name: change(value) for name, value in arc.assigns.items()}
        return replace(arc, condition=arc.condition and change(arc.condition), assigns=values)

    def complete(self, node: ex.Expression) -> ex.Expression:
        """The first event is always there."""
        return put(node, attribute(FIRST, ex.Index.ONE))


def certain(pattern: PatternTree) -> tuple[str, ...]:
    """The variables that every match has events of, in the order of the text."""
    match pattern:
        case EventPattern(variable=str(variable)):
            return (variable,)
        case Seq(parts=parts) | AnyOrder(parts=parts):
            return tuple(variable for part in parts for variable in certain(part))
        case Either(parts=parts):
            every = [certain(part) for part in parts]
            return tuple(variable for variable in every[0] if all(variable in names for names in every))
        case Repeat(body=body, low=low) if low > 0:
            return certain(body)
    return ()


def _check_same(query: Runnable) -> None:
    """`[attr = parameter]` is a condition on each event, and no key of a run whose events do not have the attribute."""
    judged = query.counted or Strategy.PARTITION in query.strategies.values()
    for test in query.same:
        lacking = any(test.attribute not in attributes for attributes in (query.schema.roles.types or {}).values())
        if judged and lacking and isinstance(test.value, SampledLiteral):
            raise NotJoinedError("[attr] of events that do not have it", (test.value.parameter,))


def _kept(test: ex.SameValue) -> ex.Expression | None:
    """The value of `[attr = value]`, where it is not a parameter: that is a condition on each event."""
    return None if isinstance(test.value, SampledLiteral) else test.value


def _is_needless(test: ex.SameValue, query: Runnable) -> bool:
    """Whether `[attr = parameter]` is only a condition on each event: all that pass it agree, and no others count."""
    judged = query.counted or query.schema.roles.types is not None
    return isinstance(test.value, SampledLiteral) and not judged and Strategy.PARTITION not in query.strategies.values()


def _joined_scope(scope: VisibleEvents) -> VisibleEvents:
    condition = scope.condition and put(scope.condition, attribute(SEEN, ex.Index.ONE))
    return replace(scope, condition=condition)
