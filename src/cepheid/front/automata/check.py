"""Automata of the user's own (S18): what is checked without a schema."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from cepheid.errors import PatternError, Span, did_you_mean
from cepheid.front.automata.registers import EVENT, FIRST, LAST, REGISTER
from cepheid.front.sase.check import canonical
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import Kind
from cepheid.pattern.tree.components import Component
from cepheid.pattern.tree.nodes import (
    ArcClause,
    AutomatonPattern,
    Fires,
    Output,
    QueryTree,
    RegisterSlot,
    ReturnItem,
    Ties,
)
from cepheid.pattern.tree.uses import uses
from cepheid.pattern.tree.walk import automaton_of, rewrite, rewrite_expressions, walk

VALID_UNTIL = "valid_until"
NAMES = {EVENT: False, REGISTER: False, FIRST: False, LAST: False}
"""What expressions of an automaton read; none of them is a list."""


def states_of(automaton: AutomatonPattern) -> tuple[str, ...]:
    """The states, in the order of the text; final ones that no arc names at the end."""
    arcs = (state for arc in automaton.arcs for state in (arc.source, arc.target))
    return tuple(dict.fromkeys([automaton.start, *arcs, *automaton.finals]))


def check_clauses(query: QueryTree) -> None:
    """An automaton has its conditions on arcs, and gives all its matches."""
    if query.strategies:
        remedy = "remove it: an automaton takes contiguous events; IGNORE skips some of them"
        raise PatternError("CEP224", "a strategy can't be used with AUTOMATON", remedy, query.strategies[0].span)
    if query.output is not Output.ALL:
        remedy = "remove OUTPUT, or write the matches INTO a stream and choose among them in a query that reads it"
        raise PatternError("CEP224", f"OUTPUT {query.output.value} can't be used with AUTOMATON", remedy, query.span)
    for condition in query.where:
        if not isinstance(condition, ex.SameValue):
            remedy = "put it on an arc, ARC q0 -> q1 WHEN …, or test the complete match in HAVING"
            raise PatternError("CEP224", "the WHERE of an automaton takes [attr] only", remedy, condition.span)


def with_register(query: QueryTree) -> QueryTree:
    """`r.x` as a field of the register, which must be there."""
    automaton = automaton_of(query)
    fields = [slot.name for slot in automaton.register]

    def change(node: ex.Expression) -> ex.Expression:
        if isinstance(node, ex.Attribute) and node.variable == REGISTER:
            if node.index is not ex.Index.ONE:
                remedy = f"write {REGISTER}.{node.name}"
                raise PatternError("CEP208", f"'{REGISTER}' is the register and can't have an index", remedy, node.span)
            if node.name not in fields:
                remedy = did_you_mean(node.name, fields, "fields") if fields else "declare it: REGISTER x INT = 0"
                raise PatternError("CEP225", f"the register has no field '{node.name}'", remedy, node.span)
            return ex.RegisterField(node.name, span=node.span)
        return node

    return rewrite_expressions(query, lambda expression: rewrite(expression, change))


def checked_automaton(query: QueryTree) -> AutomatonPattern:
    """The automaton, all rules that need no schema being checked."""
    automaton = automaton_of(query)
    _check_names(automaton)
    _check_states(automaton)
    check_epsilon(automaton.arcs)
    register = tuple(map(_checked_slot, automaton.register))
    arcs = tuple(_checked_arc(arc, automaton, query) for arc in automaton.arcs)
    return replace(automaton, register=register, arcs=arcs)


def _checked_slot(slot: RegisterSlot) -> RegisterSlot:
    initial = slot.initial
    if isinstance(initial, ex.Minus) and isinstance(initial.operand, ex.Literal):
        value, type_ = initial.operand.value, initial.operand.type
        if isinstance(value, int) and type_.kind is Kind.DURATION:  # -5 seconds: the text has no negative durations
            return replace(slot, initial=ex.Literal(-value, type_, span=initial.span))
    if not isinstance(initial, ex.Literal):
        remedy = "write a number, a text in quotes, NULL, or a parameter"
        raise PatternError("CEP225", f"the initial value of '{slot.name}' is not a constant", remedy, initial.span)
    return slot


def _check_names(automaton: AutomatonPattern) -> None:
    fields = [slot.name for slot in automaton.register]
    _check_once([(slot.name, slot.span) for slot in automaton.register], "field", "CEP225")
    named = [arc for arc in automaton.arcs if arc.name is not None and arc.since is None and arc.until is None]
    _check_once([(arc.name, arc.span) for arc in named], "arc", "CEP226")
    for arc in automaton.arcs:
        _check_once([(assign.name, assign.span) for assign in arc.assigns], "assigned field", "CEP225")
        for assign in arc.assigns:
            if assign.name not in fields:
                remedy = did_you_mean(assign.name, fields, "fields") if fields else "declare it: REGISTER x INT = 0"
                raise PatternError("CEP225", f"the register has no field '{assign.name}'", remedy, assign.span)


def _check_once(names: Iterable[tuple[str | None, Span | None]], what: str, code: str) -> None:
    seen: set[str | None] = set()
    for name, span in names:
        if name in seen:
            raise PatternError(code, f"the {what} '{name}' is there twice", "rename or remove one of them", span)
        seen.add(name)


def _check_states(automaton: AutomatonPattern) -> None:
    """Every state can be reached, and leads to a final one; only AT END may lead into a dead end."""
    states = dict.fromkeys([automaton.start, *(state for arc in automaton.arcs for state in (arc.source, arc.target))])
    for final in automaton.finals:
        if final not in states:
            remedy = did_you_mean(final, states, "states")
            raise PatternError("CEP226", f"no arc leads to the final state '{final}'", remedy, automaton.span)
    ahead = reached([automaton.start], [(arc.source, arc.target) for arc in automaton.arcs])
    back = reached(automaton.finals, [(arc.target, arc.source) for arc in automaton.arcs])
    ends = {arc.target for arc in automaton.arcs if arc.fires is Fires.END}
    changes = any(arc.since is not None or arc.until is not None for arc in automaton.arcs)
    for arc in () if changes else automaton.arcs:  # states come and go with arcs (S17)
        if arc.source not in ahead:
            remedy = f"add an arc that leads to '{arc.source}', or remove this one"
            raise PatternError("CEP226", f"the state '{arc.source}' can't be reached", remedy, arc.span)
        if arc.target not in back and arc.target not in ends:
            remedy = f"add an arc from '{arc.target}' towards {' or '.join(automaton.finals)}, or remove this one"
            raise PatternError("CEP226", f"the state '{arc.target}' leads to no final state", remedy, arc.span)
    if not automaton.arcs:
        raise PatternError("CEP226", "the automaton has no arcs", "write ARC q0 -> q1 WHEN e.x > 0", automaton.span)


def reached(begin: Iterable[str], ways: Sequence[tuple[str, str]]) -> set[str]:
    """The states that some ways lead to."""
    states, todo = set(begin), list(begin)
    while todo:
        state = todo.pop()
        more = {target for source, target in ways if source == state} - states
        states |= more
        todo += more
    return states


def check_epsilon(arcs: Sequence[ArcClause]) -> None:
    """A cycle of ε-arcs is an error, whatever their conditions (S18)."""
    ways = [arc for arc in arcs if arc.fires is Fires.NOTHING]

    def follow(path: list[ArcClause]) -> None:
        for arc in ways:
            if arc.source != path[-1].target:
                continue
            sources = [arc_of_path.source for arc_of_path in path]
            if arc.target in sources or arc.target == arc.source:
                cycle = [*sources[sources.index(arc.target) :], arc.source] if arc.target in sources else [arc.source]
                shown_cycle = " -> ".join([*cycle, arc.target])
                remedy = "remove one of these arcs, or let it take an event: ARC"
                raise PatternError("CEP227", f"the EPSILON arcs form a cycle: {shown_cycle}", remedy, arc.span)
            follow([*path, arc])

    for arc in ways:
        if arc.source == arc.target:
            remedy = "remove it: it changes nothing, or goes on for ever"
            raise PatternError("CEP227", f"the EPSILON arc is a cycle: {arc.source} -> {arc.target}", remedy, arc.span)
        follow([arc])


def _checked_arc(arc: ArcClause, automaton: AutomatonPattern, query: QueryTree) -> ArcClause:
    if arc.fires is Fires.INSTANT and query.ties is not Ties.SIMULTANEOUS:
        remedy = "add TIES SIMULTANEOUS, or leave out ON ALL"
        raise PatternError("CEP226", "ON ALL needs TIES SIMULTANEOUS", remedy, arc.span)
    if arc.fires is Fires.END and query.within is None:
        remedy = "add a window, such as WITHIN 5 minutes"
        raise PatternError("CEP226", "AT END needs WITHIN", remedy, arc.span)
    event = Component(EVENT, arc.types, array=arc.fires is Fires.INSTANT)
    seen = {EVENT: event} if arc.fires in (Fires.EVENT, Fires.INSTANT) else {}

    def check(node: ex.Expression) -> ex.Expression:
        for use in uses(node):
            _check_use(use.node, use.variable, arc, whole=use.index is ex.Index.EACH)
        return canonical(node, seen)

    return replace(
        arc,
        condition=arc.condition and check(arc.condition),
        assigns=tuple(replace(assign, value=check(assign.value)) for assign in arc.assigns),
    )


def _check_use(node: ex.Expression, variable: str, arc: ArcClause, *, whole: bool) -> None:
    if variable != EVENT:
        remedy = f"an arc reads the event, {EVENT}.x, and the register, {REGISTER}.x"
        if variable in (FIRST, LAST):
            remedy += f"; {FIRST} and {LAST} are for HAVING and RETURN"
        raise PatternError("CEP202", f"unknown variable '{variable}'", remedy, node.span)
    if arc.fires in (Fires.NOTHING, Fires.END):
        word = "an EPSILON arc" if arc.fires is Fires.NOTHING else "AT END"
        remedy = f"{word} reads the register only: {REGISTER}.x"
        raise PatternError("CEP226", f"there is no event on {word}", remedy, node.span)
    if arc.fires is Fires.INSTANT and not whole:
        remedy = f"aggregate them: max({EVENT}[].x), count({EVENT}[])"
        raise PatternError("CEP226", "ON ALL reads all events of an instant", remedy, node.span)
    if arc.fires is Fires.EVENT and whole:
        remedy = f"write {EVENT}.x, or ON ALL with TIES SIMULTANEOUS for all events of an instant"
        raise PatternError("CEP208", f"'{EVENT}' is a single event and can't have an index", remedy, node.span)


def with_fixed_keys(automaton: AutomatonPattern, same: Sequence[ex.SameValue]) -> AutomatonPattern:
    """`[attr = value]`: only such events are taken."""
    fixed = [test for test in same if test.value is not None]

    def narrowed(arc: ArcClause) -> ArcClause:
        if not fixed or arc.fires not in (Fires.EVENT, Fires.INSTANT):
            return arc
        tests = [_fixed(test, arc.fires) for test in fixed]
        conditions = [*([arc.condition] if arc.condition is not None else []), *tests]
        return replace(arc, condition=conditions[0] if len(conditions) == 1 else ex.And(tuple(conditions)))

    return replace(automaton, arcs=tuple(map(narrowed, automaton.arcs)))


def _fixed(test: ex.SameValue, fires: Fires) -> ex.Expression:
    assert test.value is not None
    index = ex.Index.EACH if fires is Fires.INSTANT else ex.Index.ONE
    read: ex.Expression = ex.Attribute(EVENT, index, test.attribute, span=test.span)
    for name in test.fields:
        read = ex.Field(read, name, span=test.span)
    compared = ex.Compare("=", read, test.value, span=test.span)
    return ex.Quantified("ALL", compared, span=test.span) if fires is Fires.INSTANT else compared


def with_results(query: QueryTree, time: str) -> QueryTree:
    """`valid_until`, then RETURN or, without it, the fields of the register (S18)."""
    automaton = automaton_of(query)
    for item in query.returns:
        if item.name == VALID_UNTIL:
            message = f"every match of an automaton already has a column '{VALID_UNTIL}'"
            raise PatternError("CEP212", message, "leave it out, or rename it with AS", item.span)
        for node in walk(item.expression):
            if isinstance(node, ex.Rows) and node.variable in (EVENT, REGISTER):
                remedy = f"return its fields, {REGISTER}.x AS x, or the events {FIRST} and {LAST}"
                raise PatternError("CEP218", f"'{node.variable}' can't be returned as a whole", remedy, node.span)
    fields = tuple(ReturnItem(ex.RegisterField(slot.name), slot.name, span=slot.span) for slot in automaton.register)
    until = ReturnItem(ex.Attribute(FIRST, ex.Index.ONE, time), VALID_UNTIL)  # to which binding adds the window
    return replace(query, returns=(until, *(query.returns or fields)))
