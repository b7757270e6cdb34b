"""The plan of a query as a graph: in which order its components are looked at, with what was expected and counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.engine.planning.decision import Decision
from cepheid.errors import CepheidError
from cepheid.front.runnable import Runnable
from cepheid.language import print_expression
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.tree.components import Component
from cepheid.pattern.tree.nodes import Language
from cepheid.pattern.tree.uses import uses
from cepheid.pictures import Edge, Graph, Node, NodeKind
from cepheid.plan.spec import PlanKind, order_of
from cepheid.values.bindings import Bindings
from cepheid.values.evaluate import Compiler
from cepheid.values.rows import read_rows

TESTED = 10_000
"""Events of a component on which its own conditions are tested, one by one."""


def plan_graph(compiled: CompiledQuery, decision: Decision, events: pa.Table | None) -> Graph:
    """From the events to the matches, one step after the other."""
    query = compiled.query
    source = "events" if events is None else f"{events.num_rows:,} events"
    nodes = [Node("events", (source,), NodeKind.SOURCE)]
    partitions = query.partitions.all
    if partitions:
        nodes.append(Node("partition", (f"by {', '.join(partitions)}", *_keys(query, events)), NodeKind.STAGE))
    nodes += _STEPS[query.language](compiled, decision, events)
    nodes.append(Node("matches", ("matches",), NodeKind.SINK))
    edges = (Edge(node.name, following.name) for node, following in pairwise(nodes))
    return Graph(tuple(nodes), tuple(edges), (f"Plan: {decision.choice.label}", decision.reason))


def _components(compiled: CompiledQuery, decision: Decision, events: pa.Table | None) -> Iterator[Node]:
    query, expected = compiled.query, _expected(compiled, decision)
    for number, component in enumerate(_ordered(compiled, decision)):
        lines = [_heading(component), *map(print_expression, _of_one_event(query, component))]
        if component.variable in expected:
            lines.append(f"expected: {expected[component.variable]}")
        if events is not None:
            lines += _counted(query, component, events)
        yield Node(f"step{number}", tuple(lines), NodeKind.STAGE)


def _one_automaton(compiled: CompiledQuery, decision: Decision, events: pa.Table | None) -> Iterator[Node]:
    yield Node("automaton", ("automaton, event by event",), NodeKind.STAGE)


_STEPS: Mapping[Language, Callable[[CompiledQuery, Decision, pa.Table | None], Iterator[Node]]] = {
    Language.PATTERN: _components,
    Language.AUTOMATON: _one_automaton,
    Language.CESAR: _one_automaton,
}


def _ordered(compiled: CompiledQuery, decision: Decision) -> Iterator[Component]:
    """The components as they are looked at: by an automaton as they come, those that must be absent where they are."""
    components = compiled.query.components
    if not decision.choice.joins or decision.choice.way is PlanKind.TREE:
        yield from components.values()
        return
    join = compiled.join_of(decision.choice)
    yield from (components[join.stacks[x].variable] for x in order_of(decision.choice, join))
    yield from (component for component in components.values() if component.negated)


def _heading(component: Component) -> str:
    types = " or ".join(component.types) or "any type"
    return f"{'no ' if component.negated else ''}{component.variable}{'[]' * component.array}: {types}"


def _of_one_event(query: Runnable, component: Component) -> list[ex.Expression]:
    """The conditions that one event of a component meets or not."""
    conditions_of = [
        condition
        for number, placed in query.placement.at_place.items()
        if query.layout.places[number].variable == component.variable
        for _, condition in placed
    ]
    for number, conditions in query.placement.of_witness.items():
        if query.layout.negations[number].variable == component.variable:
            conditions_of += conditions
    alone = (ex.Index.ONE, ex.Index.EACH)
    return [
        condition
        for condition in dict.fromkeys(conditions_of)
        if all(use.variable == component.variable and use.index in alone and not use.whole for use in uses(condition))
    ]


def _expected(compiled: CompiledQuery, decision: Decision) -> dict[str, str]:
    """Of each component, how many events the sample lets expect."""
    if decision.statistics is None:
        return {}
    join, known = compiled.join_of(decision.choice), decision.statistics
    shares = zip(join.stacks, known.shares, strict=True)
    return {stack.variable: f"{share * known.events:,.0f} ({100 * share:.3g} %)" for stack, share in shares}


def _keys(query: Runnable, events: pa.Table | None) -> Iterator[str]:
    """How many values the keys have."""
    known = () if events is None else (events.column(n) for n in query.partitions.all if n in events.column_names)
    for name, column in zip(query.partitions.all, known, strict=False):
        if not pa.types.is_nested(column.type):  # whose values Arrow can't compare
            count = len(column.unique())
            yield f"{count:,} value{'s' * (count != 1)} of {name}"


def _counted(query: Runnable, component: Component, events: pa.Table) -> Iterator[str]:
    """How many events a component has, and how many of them pass its own conditions."""
    kind = query.schema.roles.type
    if kind is not None and component.types:
        types = events.column(kind).cast(pa.string())
        events = events.filter(pc.is_in(types, pa.array(component.types, pa.string())))
    own = _of_one_event(query, component)
    if not own:
        yield f"counted: {events.num_rows:,}"
        return
    some, name = events.slice(0, TESTED), component.variable
    try:
        tests = [Compiler(query).condition(condition) for condition in own]
        bound = (Bindings({name: (event,)}, {name: event}) for event in read_rows(some, query.schema))
        passed = sum(all(test(bound_event) for test in tests) for bound_event in bound)
    except CepheidError:  # such as one of a user's function: whoever asks for the matches gets it
        yield f"counted: {events.num_rows:,} before the conditions"
        return
    yield f"counted: {passed:,} of {some.num_rows:,}" + (" tested" if events.num_rows > TESTED else "")
