"""Templates: queries with parameters, run for many rules at once.

The stream of a template is a *joined* one: each of its rows is an event and a rule that it concerns. A parameter is a
column of that stream, the rule is a partition of it, and the template is one ordinary query. A parameter that shapes a
query can't be a column: rules with other values of it are rules of another variant of the template.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from cepheid.pattern import expressions as ex
from cepheid.pattern.algebra.linear import Edge, limit_of
from cepheid.pattern.algebra.result import BoundAlgebra
from cepheid.pattern.algebra.tree import Algebra
from cepheid.pattern.bind import Bound
from cepheid.pattern.bound_automata import BoundArc
from cepheid.pattern.calls import MATCHING
from cepheid.pattern.components import Component
from cepheid.pattern.functions import UNITS_OF
from cepheid.pattern.layout import Loop
from cepheid.pattern.paths import read_path
from cepheid.pattern.placement import Placement, When
from cepheid.pattern.registers import EVENT, FIRST
from cepheid.pattern.sampled import Constant, Reading
from cepheid.pattern.schema import Schema
from cepheid.pattern.scope import EVENT as SEEN
from cepheid.pattern.scope import Scope
from cepheid.pattern.tree import (
    AnyOrder,
    Automaton,
    Either,
    Event,
    Fires,
    Negation,
    Output,
    Pattern,
    Program,
    Query,
    Repeat,
    Seq,
    Strategy,
    Window,
)
from cepheid.pattern.types import INT, Kind, Type, duration
from cepheid.pattern.uses import ranges, uses
from cepheid.pattern.walk import expressions, substitute, walk

RULE = "$rule"
"""The column of a joined stream that has the number of the rule."""
WINDOW = "$within"
"""The column that has the window of a rule in ticks, where each has its own."""

STEP = 3
"""Windows of rules of one variant are less than 2 to the power of this apart, as factors."""

# Parameters, as a template is written.


def parameters(program: Program, columns: Collection[str]) -> tuple[str, ...]:
    """Those of the columns of a table of rules that a program names, in the order of the text."""
    found = (name for query in program.queries for name in (*_names(query), *_windows(query)))
    return tuple(name for name in dict.fromkeys(found) if name in columns)


def shapes(program: Program, columns: Collection[str]) -> tuple[str, ...]:
    """The parameters that shape a query, so that they must be constants of it; WITHIN is not among these."""
    found = (name for query in program.queries for name in (*_shaping(query), *_other_windows(query)))
    return tuple(name for name in dict.fromkeys(found) if name in columns)


def window_parameter(program: Program, columns: Collection[str]) -> str | None:
    """The parameter that is the window of the only query, and nothing else."""
    if len(program.queries) != 1:
        return None
    query = program.queries[0]
    name = next(_named(query.within), None)
    elsewhere = (*_names(query), *_other_windows(query))
    return name if name in columns and name not in elsewhere else None


def _names(query: Query) -> Iterator[str]:
    for expression in expressions(query):
        for node in walk(expression):
            if isinstance(node, ex.Name):
                yield node.name
            elif isinstance(node, ex.InSet):
                yield node.set


def _windows(query: Query) -> Iterator[str]:
    yield from _named(query.within)
    yield from _other_windows(query)


def _other_windows(query: Query) -> Iterator[str]:
    yield from _named(query.cooldown)
    for node in walk(query.pattern):
        if isinstance(node, Negation):
            yield from _named(node.period)


def _named(window: Window | None) -> Iterator[str]:
    if window is not None and isinstance(window.amount, ex.Name):
        yield window.amount.name


def _shaping(query: Query) -> Iterator[str]:
    """What a checked expression has as a part of itself, and not as a value."""
    for expression in expressions(query):
        for node in walk(expression):
            match node:
                case ex.InSet(set=name):
                    yield name
                case ex.Like(pattern=pattern) | ex.RLike(pattern=pattern):
                    yield from _names_in(pattern)
                case ex.Aggregate(share=ex.Expression() as share):
                    yield from _names_in(share)
                case ex.Element(index=index):
                    yield from _names_in(index)
                case ex.Call(function=name, arguments=arguments) if name.lower() in (*UNITS_OF, *MATCHING):
                    places = (UNITS_OF[name.lower()][0],) if name.lower() in UNITS_OF else (1,)
                    yield from (found for k in places for one in arguments[k : k + 1] for found in _names_in(one))
                case ex.Minus(operand=operand) if isinstance(query.pattern, Algebra):
                    yield from _names_in(operand)  # it may be compared with DUR
    if isinstance(query.pattern, Automaton):
        yield from _shaping_automaton(query.pattern)
    if isinstance(query.pattern, Algebra):
        yield from _lets(query.pattern)


def _shaping_automaton(automaton: Automaton) -> Iterator[str]:
    """The register at the start, and arcs that have no event at hand."""
    yield from (name for slot in automaton.register for name in _names_in(slot.initial))
    for arc in automaton.arcs:
        if arc.fires in (Fires.NOTHING, Fires.END):
            for expression in (arc.condition, *(assign.value for assign in arc.assigns)):
                yield from _names_in(expression) if expression is not None else ()


def _lets(algebra: Algebra) -> Iterator[str]:
    """A name for a value may stand anywhere, also where a constant is wanted."""
    for let in algebra.lets:
        if isinstance(let.value, ex.Expression):
            yield from _names_in(let.value)


def _names_in(node: ex.Expression) -> Iterator[str]:
    return (part.name for part in walk(node) if isinstance(part, ex.Name))


# The joined query.


class NotJoinedError(Exception):
    """Why a template can't be one query on a joined stream; `parameters` must be constants then, if there are any."""

    def __init__(self, reason: str, parameters: Iterable[str] = ()) -> None:
        super().__init__(reason)
        self.parameters = frozenset(parameters)


@dataclass(frozen=True, slots=True)
class ConstantColumn:
    """A column of a joined stream: the constants of a parameter, read as they are where they stand."""

    name: str
    parameter: str
    type: Type
    readings: tuple[Reading, ...] = ()
    most: int | None = None  # the rules of a variant have no greater ones, and none that are much less


def power_above(amount: int) -> int:
    """A round number that is not less: amounts with the same one are of one size.

    >>> power_above(5), power_above(8), power_above(9)
    (8, 8, 64)
    """
    return min(1 << (STEP * -(-max(amount - 1, 0).bit_length() // STEP)), 2**62)


@dataclass(frozen=True, slots=True)
class Joined:
    """A template on a joined stream. plain: the same query on the events alone, with the constants of one rule."""

    bound: Bound
    plain: Bound
    columns: tuple[ConstantColumn, ...]
    windowed: bool  # each rule has its own window, in the column WINDOW

    @property
    def returns_constants(self) -> bool:
        """Whether a column of RETURN depends on the rule."""
        return any(_constants(result.expression) for result in self.plain.returns)


def join(query: Bound, *, windowed: bool = False) -> Joined:
    """The query, bound with samples, on a joined stream.

    windowed: its window is the greatest of those of the rules, each of which has its own.
    """
    if query.schema.start is not None and query.algebra is None and windowed:
        raise NotJoinedError("the window of events that last")
    used = _used(query)
    limits = {} if query.algebra is None else _limits(query.algebra)
    columns = {n: ConstantColumn(n, c.parameter, c.type, c.readings, limits.get(n)) for n, c in used.items()}
    schema = _schema(query.schema, columns.values(), windowed=windowed)
    if query.algebra is not None:
        bound = replace(
            query,
            schema=schema,
            typer=replace(query.typer, schema=schema),
            reads=tuple(schema.columns),
            algebra=_joined_algebra(query.algebra, limits),
        )
        return Joined(bound, query, tuple(columns.values()), windowed)
    _check_same(query)
    own = _JoinedAutomaton(query) if query.automaton is not None else _JoinedPattern(query)
    placement = own.placement(windowed=windowed)
    same = tuple(replace(test, value=_kept(test)) for test in query.same if not _is_needless(test, query))
    bound = replace(
        query,
        schema=schema,
        placement=placement,
        same=same,
        partition_by=(RULE, *query.partition_by),
        having=query.having and own.complete(query.having),
        returns=tuple(replace(result, expression=own.complete(result.expression)) for result in query.returns),
        typer=replace(query.typer, schema=schema),
        scope=query.scope and _joined_scope(query.scope),
        reads=(*query.reads, *(name for name in schema.columns if name in schema.constants)),
        automaton=query.automaton and query.automaton.rewritten_arcs(own.arc),
    )
    return Joined(bound, query, tuple(columns.values()), windowed)


def _check_same(query: Bound) -> None:
    """`[attr = parameter]` is a condition on each event, and no key of a run whose events do not have the attribute."""
    judged = query.counted or query.automaton is not None or Strategy.PARTITION in query.strategies.values()
    for test in query.same:
        lacking = any(test.attribute not in given for given in (query.schema.roles.types or {}).values())
        if judged and lacking and isinstance(test.value, Constant):
            raise NotJoinedError("[attr] of events that do not have it", (test.value.parameter,))


def _kept(test: ex.SameValue) -> ex.Expression | None:
    """The value of `[attr = value]`, where it is not a parameter: that is a condition on each event."""
    return None if isinstance(test.value, Constant) else test.value


def _is_needless(test: ex.SameValue, query: Bound) -> bool:
    """Whether `[attr = parameter]` is only a condition on each event: all that pass it agree, and no others count."""
    judged = query.counted or query.schema.roles.types is not None or query.automaton is not None
    return isinstance(test.value, Constant) and not judged and Strategy.PARTITION not in query.strategies.values()


def _used(query: Bound) -> dict[str, Constant]:
    """The constants of a query, by column."""
    found: dict[str, Constant] = {}
    for expression in _all_expressions(query):
        found |= {constant.column: constant for constant in _constants(expression)}
    return found


def _all_expressions(query: Bound) -> Iterator[ex.Expression]:
    yield from query.conditions
    yield from query.placement.constant
    yield from query.same
    if query.having is not None:
        yield query.having
    yield from (result.expression for result in query.returns)
    if query.scope is not None and query.scope.condition is not None:
        yield query.scope.condition
    if query.automaton is not None:
        yield from query.automaton.expressions()
    if query.algebra is not None:
        for edge in query.algebra.automaton.edges:
            yield from (*edge.fence, *edge.values.values())


def _constants(node: ex.Expression) -> list[Constant]:
    return [part for part in walk(node) if isinstance(part, Constant)]


def _schema(schema: Schema, columns: Iterable[ConstantColumn], *, windowed: bool) -> Schema:
    """With the columns of the rules, which events of every type have."""
    added = {RULE: INT, **{column.name: column.type for column in columns}}
    if windowed:
        added[WINDOW] = window_type(schema)
    if not added.keys().isdisjoint(schema.columns):
        raise NotJoinedError("a column of the events has the name of one of the rules")
    types = schema.roles.types and {name: (*given, *added) for name, given in schema.roles.types.items()}
    return replace(
        schema,
        columns={**schema.columns, **added},
        roles=replace(schema.roles, types=types),
        constants=frozenset(added),
    )


def window_type(schema: Schema) -> Type:
    """The type of the difference of two times."""
    kind = schema.columns[schema.roles.time].kind
    if kind is Kind.TIMESTAMP:
        return duration("ns")
    if kind is not Kind.INT:
        raise NotJoinedError("a window of dates")
    return INT


Target = Callable[[str], ex.Expression]
"""What reads a column of the rule, by its name."""


def put(node: ex.Expression, target: Target) -> ex.Expression:
    """An expression with constants as columns; in an aggregate, and below ALL and ANY, of the events that it reads."""

    def change(part: ex.Expression) -> ex.Expression | None:
        match part:
            case Constant(column=column):
                return target(column)
            case ex.Aggregate(argument=argument) if _constants(argument):
                return replace(part, argument=put(argument, _range_of(argument)))
            case ex.Quantified(condition=condition) if _constants(condition):
                each = ranges(condition)[0]
                inner = attribute(each.variable, each.index)
                return replace(part, condition=put(condition, inner))
        return None

    return substitute(node, change)


def _range_of(argument: ex.Expression) -> Target:
    """The events that an aggregate reads."""
    for part in walk(argument):
        if isinstance(part, ex.Attribute | ex.Rows):
            return attribute(part.variable, part.index)
    raise NotJoinedError("an aggregate of no attribute", (c.parameter for c in _constants(argument)))


def attribute(variable: str, index: ex.AnyIndex) -> Target:
    """The rule of an event."""
    return lambda column: ex.Attribute(variable, index, column)


def _joined_scope(scope: Scope) -> Scope:
    condition = scope.condition and put(scope.condition, attribute(SEEN, ex.Index.ONE))
    return replace(scope, condition=condition)


def _limits(algebra: BoundAlgebra) -> dict[str, int]:
    """The columns that say how long instances may last, each with what no rule of the variant exceeds."""
    limits = (limit_of(c, edge.start) for edge in algebra.automaton.edges for c in edge.fence)
    return {c.column: power_above(c.value) for c in limits if isinstance(c, Constant) and isinstance(c.value, int)}


def _limited(edge: Edge, limits: Mapping[str, int]) -> Edge:
    """An edge that also asks for the greatest of the limits of the rules, so that instances are known to end."""

    def with_limit(condition: ex.Expression) -> tuple[ex.Expression, ...]:
        limit = limit_of(condition, edge.start)
        if not isinstance(limit, Constant):
            return (condition,)
        most = ex.Literal(limits[limit.column], INT)
        compared = condition.operand if isinstance(condition, ex.Not) else condition
        assert isinstance(compared, ex.Compare)
        wider = replace(compared, operator="<=" if compared.operator == "=" else compared.operator, right=most)
        return condition, ex.Not(wider) if isinstance(condition, ex.Not) else wider

    decides = tuple(part for condition in edge.decides for part in with_limit(condition))
    asks = tuple(part for condition in edge.asks for part in with_limit(condition))
    return replace(edge, decides=decides, asks=asks)


def _joined_algebra(algebra: BoundAlgebra, limits: Mapping[str, int]) -> BoundAlgebra:
    """A CESAR expression whose instances wait for events of their rule, which is the last attribute of its results."""
    now, held = ex.Attribute(EVENT, ex.Index.ONE, RULE), ex.Register(RULE, INT)

    def change(node: ex.Expression) -> ex.Expression:
        return put(node, attribute(EVENT, ex.Index.ONE))

    given = algebra.automaton
    found = replace(given, edges=tuple(_limited(edge, limits) for edge in given.edges)).rewritten(change, change)
    edges = (
        replace(
            edge,
            decides=edge.decides if edge.source is None else (ex.Compare("=", now, held), *edge.decides),
            values={**edge.values, RULE: now},
        )
        for edge in found.edges
    )
    states = (replace(state, types={**state.types, RULE: INT}) for state in found.states)
    flat = replace(found, states=tuple(states), edges=tuple(edges), types={**found.types, RULE: INT})
    term = replace(algebra.term, types={**algebra.term.types, RULE: INT})
    return replace(algebra, term=term, names=(*algebra.names, RULE), columns=(RULE, *algebra.columns), flat=flat)


class _JoinedPattern:
    """The conditions of a SASE+ query on a joined stream: each reads the rule of an event that it is tested on."""

    def __init__(self, query: Bound) -> None:
        self.query = query
        self.layout = query.layout
        self.sure = certain(query.pattern)

    def arc(self, arc: BoundArc) -> BoundArc:
        """Not of a pattern."""
        raise TypeError("a pattern has no arcs")

    def placement(self, *, windowed: bool) -> Placement:
        """The conditions, where they were."""
        given = self.query.placement
        at_place = {
            number: [(when, self.at(number, when, condition)) for when, condition in tests]
            for number, tests in given.at_place.items()
        }
        absent = [attribute(one.variable, ex.Index.ONE) for one in self.layout.negations]
        of_witness = {n: [put(condition, absent[n]) for condition in tests] for n, tests in given.of_witness.items()}
        for test in self.query.same:
            if isinstance(test.value, Constant):
                for number, spot in enumerate(self.layout.places):
                    read, when = self.current(spot.variable)
                    at_place.setdefault(number, []).append((when, self.fixed(test, spot.variable, read)))
                for number, one in enumerate(self.layout.negations):
                    of_witness.setdefault(number, []).append(self.fixed(test, one.variable, ex.Index.ONE))
        decided = [condition for condition in given.constant if _constants(condition)]
        for condition in decided:  # by the rule alone: no run begins where it is not TRUE
            for begun in dict.fromkeys(move.target for move in self.layout.starts if move.target is not None):
                variable = self.layout.places[begun].variable
                read, when = self.current(variable)
                at_place.setdefault(begun, []).append((when, put(condition, attribute(variable, read))))
        if windowed:
            for number, test_at, condition in self.window():
                at_place.setdefault(number, []).append((test_at, condition))
        return Placement(
            {number: tuple(tests) for number, tests in at_place.items()},
            {
                number: tuple(put(condition, self.at_exit(number, condition)) for condition in tests)
                for number, tests in given.at_exit.items()
            },
            {number: tuple(tests) for number, tests in of_witness.items()},
            tuple(condition for condition in given.constant if not _constants(condition)),
        )

    def component(self, variable: str) -> Component:
        """A variable of the pattern."""
        return self.query.components[variable]

    def current(self, variable: str) -> tuple[ex.Index, When]:
        """The event that is bound to a variable, each of them where there are several."""
        return (ex.Index.EACH if self.component(variable).indexed else ex.Index.ONE), When.ALWAYS

    def at(self, number: int, when: When | ex.Nth, condition: ex.Expression) -> ex.Expression:
        """A condition that is tested when an event is bound reads the rule of that event."""
        if not _constants(condition):
            return condition
        variable = self.layout.places[number].variable
        own = [use.index for use in uses(condition) if use.variable == variable and not use.whole]
        index: ex.AnyIndex = next((i for i in own if i in _AT_HAND or isinstance(i, ex.Nth)), ex.Index.ONE)
        if when is When.LATER:
            index = ex.Index.CURRENT
        elif when is When.FIRST:
            index = ex.Index.FIRST
        elif isinstance(when, ex.Nth):
            index = when
        if not own:
            index = self.current(variable)[0]
        return put(condition, attribute(variable, index))

    def at_exit(self, number: int, condition: ex.Expression) -> Target:
        """What is tested when a repetition is left reads the rule of an event that is bound by then."""
        loop: Loop = self.layout.loops[number]
        ordered = not any(isinstance(node, AnyOrder) for node in walk(self.query.pattern))
        sure = [v for v in self.sure if v in loop.variables or (ordered and v not in loop.later)]
        if not sure and _constants(condition):
            named = (c.parameter for c in _constants(condition))
            raise NotJoinedError("a condition on a repetition that may be empty", named)
        return self.first_of(sure[0]) if sure else attribute("", ex.Index.ONE)

    def first_of(self, variable: str) -> Target:
        """The rule of the first event that is bound to a variable."""
        array = self.component(variable).array
        return attribute(variable, ex.Index.FIRST if array else ex.Index.ONE)

    def complete(self, node: ex.Expression) -> ex.Expression:
        """What reads the complete match reads the rule of an event that every match has, or of any that it has."""
        if not _constants(node):
            return node
        if self.sure:
            return put(node, self.first_of(self.sure[0]))
        targets = [self.first_of(component.variable) for component in self.query.positive]
        return put(node, lambda column: ex.Call("coalesce", tuple(target(column) for target in targets)))

    def fixed(self, test: ex.SameValue, variable: str, index: ex.AnyIndex) -> ex.Expression:
        """`[attr = parameter]` of one event."""
        assert isinstance(test.value, Constant)

        def own(part: ex.Expression) -> ex.Expression | None:
            return replace(part, index=index) if isinstance(part, ex.Attribute) else None

        read = substitute(read_path(self.query.schema.path(test.attribute), variable, test.span), own)
        return ex.Compare("=", read, ex.Attribute(variable, index, test.value.column), span=test.span)

    def window(self) -> Iterator[tuple[int, When, ex.Expression]]:
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
                index, when = ex.Index.CURRENT, When.LATER
            passed = ex.Arithmetic("-", ex.Attribute(spot.variable, index, time), start)
            yield number, when, ex.Compare("<", passed, ex.Attribute(spot.variable, index, WINDOW))


_AT_HAND = (ex.Index.ONE, ex.Index.EACH, ex.Index.CURRENT, ex.Index.FIRST)


class _JoinedAutomaton(_JoinedPattern):
    """The same of an automaton of the user's own: an arc has an event at hand, or all of an instant."""

    def placement(self, *, windowed: bool) -> Placement:
        """It has no conditions but those of its arcs."""
        if windowed:
            raise NotJoinedError("the window of an automaton")
        return self.query.placement

    def arc(self, arc: BoundArc) -> BoundArc:
        """An arc that reads the rule of its event."""

        def change(node: ex.Expression) -> ex.Expression:
            if not _constants(node):
                return node
            if arc.fires is Fires.EVENT:
                return put(node, attribute(EVENT, ex.Index.ONE))
            if arc.fires is Fires.INSTANT:
                return put(node, lambda c: ex.Aggregate("first", ex.Attribute(EVENT, ex.Index.EACH, c)))
            raise NotJoinedError("an arc that has no event", (c.parameter for c in _constants(node)))

        values = {name: change(value) for name, value in arc.assigns.items()}
        return replace(arc, condition=arc.condition and change(arc.condition), assigns=values)

    def complete(self, node: ex.Expression) -> ex.Expression:
        """The first event is always there."""
        return put(node, attribute(FIRST, ex.Index.ONE))


def certain(pattern: Pattern) -> tuple[str, ...]:
    """The variables that every match has events of, in the order of the text."""
    match pattern:
        case Event(variable=str(variable)):
            return (variable,)
        case Seq(parts=parts) | AnyOrder(parts=parts):
            return tuple(variable for part in parts for variable in certain(part))
        case Either(parts=parts):
            every = [certain(part) for part in parts]
            return tuple(variable for variable in every[0] if all(variable in one for one in every))
        case Repeat(body=body, low=low) if low > 0:
            return certain(body)
    return ()
