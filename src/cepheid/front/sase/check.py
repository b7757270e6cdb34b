"""Rules for queries that do not depend on the data: each has a code, a place and a remedy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from cepheid.errors import PatternError, did_you_mean
from cepheid.pattern.binding.placement import check_complete
from cepheid.pattern.binding.schema import END, START, Roles, output_names
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.paths import spell
from cepheid.pattern.tree.components import Component
from cepheid.pattern.tree.layout import Layout, MarkAction, absences
from cepheid.pattern.tree.nodes import (
    EventPattern,
    Maybe,
    Negation,
    Output,
    PatternTree,
    QueryTree,
    Repeat,
    Seq,
    Strategy,
)
from cepheid.pattern.tree.uses import ranges, uses
from cepheid.pattern.tree.walk import children, rewrite, walk

Components = Mapping[str, Component]


def check_negations(pattern: PatternTree, *, in_sequence: bool = False) -> None:
    """A negated event must be part of a sequence that also binds an event."""
    match pattern:
        case Negation() if not in_sequence:
            raise PatternError(
                "CEP209",
                "a negated event must be part of a sequence",
                "put it before, between or after other events: SEQ(Shelf a, !(Register b), Exit c)",
                pattern.span,
            )
        case Seq(parts=parts) if all(isinstance(p, Negation) for p in parts):
            remedy = "add at least one event that is not negated"
            raise PatternError("CEP209", "the sequence has only negated events", remedy, pattern.span)
        case Repeat(body=body) | Maybe(body=body):
            check_negations(body)
        case Negation() | EventPattern():
            pass
        case _:
            for part in children(pattern):
                check_negations(part, in_sequence=isinstance(pattern, Seq))


def check_ends(query: QueryTree, layout: Layout) -> None:
    """Negation at the start or end of a pattern needs a window (S10)."""
    if query.within is not None:
        return
    at_end = [move for moves in layout.moves for move in moves if move.target is None]
    for move in (*layout.starts, *at_end):
        for mark in move.marks:
            if mark.step is MarkAction.ABSENT and layout.negations[mark.number].period is None:
                where = "end" if move.target is None else "start"
                raise PatternError(
                    "CEP203",
                    f"negation at the {where} of the pattern needs WITHIN",
                    "add a window, such as WITHIN 12 hours, or say how long the event must be absent: "
                    "!(Type b) FOR 10 minutes",
                    layout.negations[mark.number].event.span,
                )


def check_periods(layout: Layout) -> None:
    """An absence that lasts for a while is at the start or end of a pattern, whichever way leads there (S26)."""
    if all(absent.period is None for absent in layout.negations):
        return
    between = set(absences(move for moves in layout.moves for move in moves if move.target is not None))
    for number, absent in enumerate(layout.negations):
        if absent.period is None:
            continue
        if absent.period.unit == "events":
            remedy = "write a duration, such as FOR 10 minutes"
            raise PatternError("CEP221", "FOR takes a duration, not a number of events", remedy, absent.period.span)
        if number in between:
            raise PatternError(
                "CEP221",
                "FOR is only allowed for a negation at the start or end of the pattern",
                "remove FOR: between two events, the absence lasts from the one to the other",
                absent.period.span or absent.event.span,
            )


def canonical(
    condition: ex.Expression, components: Components, *, returned: bool = False, besides: Iterable[str] = ()
) -> ex.Expression:
    """Check references and aggregates; an aggregate over a[i-1] is over a[..i-1] (SASE+ Table 1).

    returned: a column of RETURN, which may be an event or a list of events.
    besides: names that are no components, and can be used as well.
    """
    for use in uses(condition):
        if use.variable not in components:
            remedy = did_you_mean(use.variable, (*components, *besides), "variables")
            of_type = next((c.variable for c in components.values() if use.variable in c.types), None)
            if of_type is not None:
                remedy = f"{use.variable} is a type; its variable is {of_type}"
            elif use.index is not ex.Index.ONE and not remedy.startswith("did"):
                remedy += f"; for an element of a column, write {next(iter(components))}.{use.variable}[0]"
            raise PatternError("CEP202", f"unknown variable '{use.variable}'", remedy, use.node.span)
        component = components[use.variable]
        if not component.array and use.index is not ex.Index.ONE:
            a = use.variable
            remedy = f"write {a}.x, or declare a Kleene closure: {(*component.types, '*')[0]}+ {a}[]"
            raise PatternError("CEP208", f"'{a}' is a single event and can't have an index", remedy, use.node.span)
    if not (returned and isinstance(condition, ex.Rows)):
        _check_aggregates(condition, inside=False)

    def change(node: ex.Expression) -> ex.Expression:
        if isinstance(node, ex.AggregateCall):
            condition = node.filter and rewrite(node.filter, _running)
            return replace(node, argument=rewrite(node.argument, _running), filter=condition)
        return node

    return rewrite(condition, change)


def _running(node: ex.Expression) -> ex.Expression:
    if isinstance(node, ex.Attribute | ex.Rows) and node.index is ex.Index.PREVIOUS:
        return replace(node, index=ex.Index.BEFORE)
    return node


def _check_aggregates(node: ex.Expression, *, inside: bool) -> None:
    match node:
        case ex.AggregateCall(function=name, argument=argument, filter=condition):
            uses_in_node = uses(node)
            over = {(u.variable, _range(u.index)) for u in uses_in_node}
            all_uses = uses_in_node if node.share is None else (*uses_in_node, *uses(node.share))
            read = next((use.node for use in all_uses if isinstance(use.node, ex.Attribute)), None)
            a, x = (read.variable, read.name) if read is not None else ("a", "price")
            share = "" if node.share is None else ", 0.9"
            shapes = f"{name}({a}[].{x}{share}), or {name}({a}[..i-1].{x}{share})"
            example = f"{shapes}, of a Kleene variable such as Type+ {a}[]"
            if inside:
                remedy = "compute the inner one in RETURN … INTO, and the outer one in a query that reads it"
                raise PatternError("CEP206", "aggregates can't be nested", remedy, node.span)
            reads = {(u.variable, _range(u.index)) for u in uses(argument)}
            if condition is not None and len(reads) == 1 and None not in {r for _, r in reads} and reads != over:
                remedy = f"leave out what else it reads; ANY({a}[].{x} < b.{x}) and ALL(…) may read other variables"
                message = f"the FILTER of {name} must read the same events as {name} itself"
                raise PatternError("CEP206", message, remedy, condition.span or node.span)
            if not uses(argument) or len(over) != 1 or None in {r for _, r in over}:
                raise PatternError(
                    "CEP206", f"{name} needs the events of one Kleene variable", f"write {example}", node.span
                )
            if condition is not None:
                _check_aggregates(condition, inside=True)
            if name == "count" and isinstance(argument, ex.Rows) and not node.distinct:
                return
            _check_aggregates(argument, inside=True)
        case ex.Quantified(quantifier=name, condition=condition):
            if inside:
                remedy = "write one for each variable, joined with AND or OR, or compute the inner one in RETURN … INTO"
                raise PatternError(
                    "CEP206", f"{name}(…) can't be part of another one or of an aggregate", remedy, node.span
                )
            if len({(read.variable, read.index) for read in ranges(condition)}) != 1:
                remedy = f"write {name}(a[].price > b.price)"
                raise PatternError("CEP206", f"{name} needs the events of one Kleene variable", remedy, node.span)
            _check_quantified(condition)
        case ex.Rows(variable=a):
            remedy = f"add an attribute, {a}[i].price, or count the events: count({a}[])"
            raise PatternError("CEP206", f"'{a}' is a list of events, not a value", remedy, node.span)
        case ex.Attribute(index=ex.Index.BEFORE, variable=a) if not inside:
            remedy = f"aggregate them, avg({a}[..i-1].x), or use the previous event, {a}[i-1]"
            raise PatternError("CEP205", f"{a}[..i-1] is several events, not one", remedy, node.span)
        case _:
            for child in children(node):
                _check_aggregates(child, inside=inside)


def _check_quantified(node: ex.Expression) -> None:
    """Inside ALL or ANY an aggregate is one value, and `a[..i-1]` each of some events."""
    match node:
        case ex.AggregateCall():
            _check_aggregates(node, inside=False)
        case ex.Quantified() | ex.Rows():
            _check_aggregates(node, inside=True)
        case _:
            for child in children(node):
                _check_quantified(child)


def _range(index: ex.AnyIndex) -> str | None:
    if index in (ex.Index.BEFORE, ex.Index.PREVIOUS):
        return "before"
    return "all" if index is ex.Index.EACH else None


def check_same_values(node: ex.Expression, *, top: bool) -> None:
    """`[attr]` is about the whole match, so it must be a conjunct of WHERE."""
    if isinstance(node, ex.SameValue):
        if top:
            return
        remedy = f"write WHERE [{spell(node.path)}] AND …, or compare the attributes: a.x = b.x"
        raise PatternError(
            "CEP210", f"[{spell(node.path)}] is only allowed in WHERE, combined with AND", remedy, node.span
        )
    for child in children(node):
        check_same_values(child, top=False)


def check_identifiers(query: QueryTree) -> None:
    """A match has an identifier once it is complete."""
    for condition in query.where:
        for node in walk(condition):
            if isinstance(node, ex.MatchId):
                remedy = "move the condition to HAVING, or write `match_id` in back quotes for a column of that name"
                raise PatternError(
                    "CEP206", "match_id can't be used in WHERE: the match is not complete", remedy, node.span
                )


def check_strategies(query: QueryTree, components: Components) -> Mapping[str, Strategy]:
    """The strategy of each positive variable; the default is skip_till_any_match (S6)."""
    chosen: dict[str, Strategy] = {}
    for selection in query.strategies:
        names = selection.variables or tuple(components)
        for name in names:
            if name not in components:
                remedy = did_you_mean(name, components, "variables")
                raise PatternError("CEP202", f"unknown variable '{name}'", remedy, selection.span)
            if name in chosen:
                remedy = "name each variable once; a strategy without variables applies to all of them"
                raise PatternError("CEP215", f"'{name}' has two strategies", remedy, selection.span)
            chosen[name] = selection.strategy
    positive = [c.variable for c in components.values() if not c.negated]
    strategies = {v: chosen.get(v, Strategy.ANY) for v in positive}
    same = [c for c in query.where if isinstance(c, ex.SameValue)]
    if Strategy.PARTITION in strategies.values() and not same and not query.partition_by:
        raise PatternError(
            "CEP207",
            "partition_contiguity needs a partition",
            "add an equivalence test such as [symbol] to WHERE, or a PARTITION BY clause",
            next(s.span for s in query.strategies if s.strategy is Strategy.PARTITION),
        )
    return strategies


def check_composite(query: QueryTree, roles: Roles) -> None:
    """A composite event has columns of its own: its time is its end, its type the name of INTO (S13)."""
    for item in query.returns if query.into is not None else ():
        if item.name in (roles.time, roles.type or "type"):
            remedy = "choose another name with AS"
            raise PatternError("CEP212", f"every composite event already has a column '{item.name}'", remedy, item.span)


def check_cooldown(query: QueryTree) -> None:
    """COOLDOWN says how long after a match the next one may start: a time, where matches are apart (S24)."""
    if query.cooldown is None:
        return
    if query.output is Output.ALL:
        remedy = "write OUTPUT NON_OVERLAP COOLDOWN …, or OUTPUT LONGEST COOLDOWN …"
        raise PatternError("CEP219", "COOLDOWN needs NON_OVERLAP or LONGEST", remedy, query.cooldown.span)
    if query.cooldown.unit == "events":
        raise PatternError(
            "CEP219", "COOLDOWN is a time, not a number of events", "write COOLDOWN 5 minutes", query.cooldown.span
        )


def check_output(query: QueryTree, components: Components) -> None:
    """Check HAVING and RETURN, which read the complete match."""
    check_cooldown(query)
    for name, node in _results(query):
        check_same_values(node, top=False)
        for use in uses(node):
            if components[use.variable].negated:
                remedy = f"use {use.variable} in WHERE only: it is in no match"
                raise PatternError("CEP211", f"{name} can't read the negated '{use.variable}'", remedy, use.node.span)
        listed = isinstance(node, ex.Rows)  # RETURN b[]: all of them
        check_complete([replace(use, whole=use.whole or listed) for use in uses(node)], components, name)
    names = [r.name for r in query.returns]
    twice = output_names(names if query.returns else [c.variable for c in components.values() if not c.negated])
    if twice is not None:
        spans = [r.span for r in query.returns if r.name == twice]
        place = spans[-1] if spans else components[twice].span
        reserved = twice in (START, END)
        message = f"every match already has a column '{twice}'" if reserved else f"two columns are named '{twice}'"
        raise PatternError("CEP212", message, "rename it with AS" if query.returns else "rename the variable", place)


def _results(query: QueryTree) -> Iterator[tuple[str, ex.Expression]]:
    if query.having is not None:
        yield "HAVING", query.having
    for item in query.returns:
        yield "RETURN", item.expression
