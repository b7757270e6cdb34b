"""Valid automata of one's own (S18) for events of a schema, with their options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import pyarrow as pa
from hypothesis import strategies as st

from cepheid.front.automata.registers import EVENT, FIRST, LAST
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.parameters import literal
from cepheid.pattern.tree.components import name_events
from cepheid.pattern.tree.nodes import (
    ArcClause,
    Assignment,
    AutomatonPattern,
    Fires,
    FromStream,
    KeyColumn,
    Program,
    QueryTree,
    RegisterSlot,
    ReturnItem,
    Ties,
    Window,
)
from cepheid.testing.strategies.conjuncts import same_values
from cepheid.testing.strategies.expressions import conditions, expressions
from cepheid.testing.strategies.features import EVERYTHING, Features
from cepheid.testing.strategies.literals import NULL, literals
from cepheid.testing.strategies.queries import OPTIONS, RESULTS, GeneratedQuery, queries
from cepheid.testing.strategies.schemas import KEY, TIME, TYPE, tick
from cepheid.testing.strategies.scope import PARAMETERS, Scope, columns_of, parts_of
from cepheid.testing.strategies.sorts import Sort
from cepheid.testing.strategies.streams import EVENT_TYPES, LONGEST
from cepheid.testing.strategies.variables import variables

FIELDS: Mapping[Sort, tuple[str, ...]] = {
    Sort.INT: ("INT", "BIGINT", "SMALLINT"),
    Sort.FLOAT: ("DOUBLE", "FLOAT"),
    Sort.DECIMAL: ("DECIMAL(7, 2)", "DECIMAL(20, 0)"),
    Sort.STRING: ("STRING",),
    Sort.BOOL: ("BOOLEAN",),
    Sort.DATE: ("DATE",),
    Sort.LOCAL: ("TIMESTAMP_NTZ",),
    Sort.ZONED: ("TIMESTAMP_LTZ",),
    Sort.DURATION: ("INTERVAL",),
}
"""The types that a field of a register may have."""

_FREQUENT = (Sort.INT, Sort.INT, Sort.FLOAT, Sort.STRING, Sort.BOOL, *Sort)


@dataclass(frozen=True, slots=True)
class _ArcScopes:
    """What arcs are drawn with: the register, and what can be read on each kind of arc."""

    slots: tuple[RegisterSlot, ...]
    sorts: Mapping[str, Sort]
    alone: Scope  # the register
    event: Scope  # and an event
    instant: Scope  # and all events of an instant
    ends: Scope  # and the ends of a match
    types: tuple[str, ...]


@st.composite
def automata(
    draw: st.DrawFn,
    schema: pa.Schema,
    features: Features = EVERYTHING,
    *,
    event_types: Sequence[str] = EVENT_TYPES,
    simultaneous: bool = False,
) -> GeneratedQuery:
    """Automata that bind to a schema without an error; where asked for, with TIES SIMULTANEOUS and ON ALL arcs."""
    place = draw(_places(schema, features, tuple(event_types) if TYPE in schema.names else ()))
    within = draw(_windows(schema, features))
    automaton = draw(_automata(place, at_end=within is not None, on_all=simultaneous))
    partition = draw(st.sampled_from(features.partitions))
    key = KEY if draw(st.integers(0, 3)) else None
    tree = QueryTree(
        automaton,
        where=(draw(same_values(_of_events(schema, features), key)),) if partition == "[attr]" else (),
        partition_by=(KeyColumn(KEY),) if partition == "PARTITION BY" else (),
        within=within,
        having=draw(conditions(place.ends)) if features.having and draw(st.integers(0, 4)) == 4 else None,
        returns=draw(_returns(place)) if features.returns and draw(st.integers(0, 3)) == 3 else (),
        ties=Ties.SIMULTANEOUS if simultaneous else Ties.ORDERED,
    )
    options = dict(OPTIONS if features.parameters else {})
    if TYPE not in schema.names:
        options["type"] = None
    elif features.declared_types and partition is None and draw(st.integers(0, 5)) == 5:
        # How [attr] and PARTITION BY of contiguous events take a missing attribute the page does not say.
        attributes = st.lists(st.sampled_from(schema.names), unique=True)
        options["types"] = {name: draw(attributes) for name in event_types}
    if features.order_by and draw(st.integers(0, 3)) == 3:
        options["order_by"] = draw(st.sampled_from(schema.names))
    return GeneratedQuery(Program((tree,)), options)


def _of_events(schema: pa.Schema, features: Features) -> Scope:
    columns = columns_of(schema, reads_time=features.reads_time)
    return Scope(columns, parameters=features.parameters, parts=parts_of(schema))


@st.composite
def _places(draw: st.DrawFn, schema: pa.Schema, features: Features, types: tuple[str, ...]) -> _ArcScopes:
    sorts = {f"v{k}": sort for k, sort in enumerate(draw(st.lists(st.sampled_from(_FREQUENT), max_size=3)))}
    slots = tuple([draw(_slots(name, sort, features)) for name, sort in sorts.items()])
    fields: dict[Sort, tuple[str, ...]] = {}
    for name, sort in sorts.items():
        fields[sort] = (*fields.get(sort, ()), name)
    events = replace(_of_events(schema, features), registers=fields)
    return _ArcScopes(
        slots,
        sorts,
        alone=Scope({}, parameters=features.parameters, registers=fields),
        event=events.and_([(EVENT, ex.Index.ONE)]),
        instant=replace(events, ranges=((EVENT, ex.Index.EACH),)),
        ends=events.and_([(FIRST, ex.Index.ONE), (LAST, ex.Index.ONE)]),
        types=types,
    )


@st.composite
def _slots(draw: st.DrawFn, name: str, sort: Sort, features: Features) -> RegisterSlot:
    named = [param for param, (kind, _) in PARAMETERS.items() if kind is sort]
    if features.parameters and named and draw(st.integers(0, 5)) == 5:
        return RegisterSlot(name, draw(st.sampled_from(FIELDS[sort])), ex.Name(named[0]))
    fitting = literals(sort).filter(lambda constant: constant.value != 1e300)  # which no decimal holds
    return RegisterSlot(
        name, draw(st.sampled_from(FIELDS[sort])), NULL if draw(st.integers(0, 4)) == 4 else draw(fitting)
    )


@st.composite
def _windows(draw: st.DrawFn, schema: pa.Schema, features: Features) -> Window | None:
    kind = draw(st.sampled_from(features.windows))
    if kind is None:
        return None
    most = LONGEST if kind == "time" else 6
    return Window(literal(draw(st.integers(1, most))), tick(schema) if kind == "time" else "events")


@st.composite
def _automata(draw: st.DrawFn, place: _ArcScopes, *, at_end: bool, on_all: bool) -> AutomatonPattern:
    """A way from the start to a final state, and other arcs from and to any state.

    EPSILON arcs go upwards in one order of the states, so that they form no cycle.
    """
    many = draw(st.sampled_from((2, 1, 2, 3, 4)))
    states = [f"q{k}" for k in range(many)]
    order = draw(st.permutations(states))
    way = [states[0], *draw(st.permutations(states[1:]))][: draw(st.integers(1, many))]
    if len(way) == 1:
        way *= 2  # a loop
    takes = [Fires.EVENT, Fires.EVENT, *([Fires.INSTANT] if on_all else [])]
    arcs = [draw(_arcs(place, a, b, draw(st.sampled_from(takes)))) for a, b in pairwise(way)]
    others = [*takes, Fires.EVENT, Fires.NOTHING, *([Fires.END] if at_end else [])]
    for _ in range(draw(st.integers(0, 4))):
        source, target = draw(st.sampled_from(states)), draw(st.sampled_from(states))
        fires = draw(st.sampled_from(others))
        if fires is Fires.NOTHING:
            if many == 1:
                continue
            source, target = sorted(draw(st.permutations(states))[:2], key=order.index)
        arcs.append(draw(_arcs(place, source, target, fires)))
    finals = dict.fromkeys([way[-1], *draw(st.lists(st.sampled_from(states), max_size=1))])
    arcs = list(_useful(draw(st.permutations(arcs)), states[0], list(finals)))
    named = [replace(arc, name=f"a{k}") if draw(st.integers(0, 4)) == 4 else arc for k, arc in enumerate(arcs)]
    there = {states[0], *(state for arc in arcs for state in (arc.source, arc.target))}
    return AutomatonPattern(states[0], tuple(final for final in finals if final in there), place.slots, tuple(named))


def _useful(arcs: Sequence[ArcClause], start: str, finals: Iterable[str]) -> Iterable[ArcClause]:
    """The arcs that lie on a way from the start to a final state: others are errors."""
    ahead = _reached({start}, [(arc.source, arc.target) for arc in arcs])
    arcs = [arc for arc in arcs if arc.source in ahead]
    back = _reached(set(finals), [(arc.target, arc.source) for arc in arcs])
    return [arc for arc in arcs if arc.target in back]


def _reached(states: set[str], ways: Sequence[tuple[str, str]]) -> set[str]:
    while more := {target for source, target in ways if source in states} - states:
        states = states | more
    return states


@st.composite
def _arcs(draw: st.DrawFn, place: _ArcScopes, source: str, target: str, fires: Fires) -> ArcClause:
    scope = {Fires.EVENT: place.event, Fires.INSTANT: place.instant}.get(fires, place.alone)
    # Most arcs must be easy to take: a path of some of them is a match.
    condition = draw(conditions(scope, draw(st.sampled_from((1, 1, 2))))) if draw(st.booleans()) else None
    types: tuple[str, ...] = ()
    if fires is Fires.EVENT and place.types and draw(st.integers(0, 2)) == 2:
        types = tuple(draw(st.lists(st.sampled_from(place.types), min_size=1, max_size=2, unique=True)))
    if fires is Fires.EVENT and source == target and draw(st.booleans()):
        return ArcClause(source, target, fires, None, types, condition, ignores=True)
    assigns = [Assignment(name, draw(_values(place, scope, name))) for name in place.sorts if draw(st.booleans())]
    return ArcClause(source, target, fires, None, types, condition, tuple(draw(st.permutations(assigns))))


@st.composite
def _values(draw: st.DrawFn, place: _ArcScopes, scope: Scope, name: str) -> ex.Expression:
    """A value of the type of a field: one that is a decimal, or may be one, needs a cast."""
    sort = place.sorts[name]
    if draw(st.integers(0, 9)) == 9:
        return NULL
    value = draw(expressions(scope, sort, draw(st.sampled_from((1, 1, 2)))))
    decimals = Sort.DECIMAL in scope.columns or Sort.DECIMAL in scope.registers
    certain = isinstance(value, ex.Literal) or (isinstance(value, ex.Attribute) and not decimals)
    if sort is not Sort.DECIMAL and (sort is not Sort.FLOAT or certain):
        return value
    return ex.Cast(value, next(slot.type for slot in place.slots if slot.name == name))


@st.composite
def _returns(draw: st.DrawFn, place: _ArcScopes) -> tuple[ReturnItem, ...]:
    sorts = draw(st.lists(st.sampled_from(list(RESULTS)), min_size=1, max_size=2))
    returns = tuple(ReturnItem(draw(expressions(place.ends, sort)), f"r{k}") for k, sort in enumerate(sorts))
    extra = draw(st.sampled_from(("", "", "match_id", "event")))
    if extra == "match_id":
        return (*returns, ReturnItem(ex.MatchId(), "id"))
    if extra == "event":
        return (*returns, ReturnItem(ex.Name(draw(st.sampled_from((FIRST, LAST)))), "event"))
    return returns


@st.composite
def automaton_programs(draw: st.DrawFn, schema: pa.Schema, features: Features = EVERYTHING) -> GeneratedQuery:
    """Two queries, one of them an automaton at least: the second reads the composite events of the first (S13)."""
    made = {TIME: schema.field(TIME).type, TYPE: pa.string(), KEY: pa.int64(), "v": pa.int64()}
    plain = replace(features, returns=False, composition=False, repetition=False, order_by=False, scopes=False)
    plain = replace(plain, declared_types=False)
    first_is_own, then_is_own = draw(st.sampled_from(((True, True), (True, False), (False, True))))
    if first_is_own:
        first = draw(automata(schema, plain))
        ends: tuple[str, str] = (FIRST, LAST)
    else:
        first = draw(queries(schema, replace(plain, negation=False)))
        names = [variable.name for variable in variables(name_events(first.tree.pattern))]
        ends = (names[0], names[-1])
    returns = tuple(
        ReturnItem(ex.Attribute(end, ex.Index.ONE, KEY), name) for end, name in zip(ends, (KEY, "v"), strict=True)
    )
    producer = replace(first.tree, streams=(), sees=None, returns=returns, into="Made")
    # Not SIMULTANEOUS: a session that speculates may emit equal ends of composite events in another order than S9.
    then = replace(plain, returns=features.returns, ties=(Ties.ORDERED,))
    reader = automata if then_is_own else queries
    last = draw(reader(pa.schema(made.items()), then, event_types=("Made",)))
    program = Program((producer, replace(last.tree, streams=(FromStream("Made"),), sees=None)))
    return GeneratedQuery(program, OPTIONS)
