"""How a query will run on events of a schema: on a generated kernel or not, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from cepheid.automaton.model import Automaton
from cepheid.engine.blueprint import Blueprint
from cepheid.explain.plan import decide_for, plan_lines
from cepheid.kernel.source import Source
from cepheid.language import print_expression
from cepheid.pattern import expressions as ex
from cepheid.pattern.bind import Bound
from cepheid.pattern.walk import walk
from cepheid.plan.choice import Choice, Way, order_of
from cepheid.plan.join import Join


@dataclass(frozen=True, slots=True)
class Execution:
    """What `explain()` says of the plan and of the run; `source` is the generated source, empty where there is none."""

    plan: tuple[str, ...]
    lines: tuple[str, ...]
    source: str = ""


def explain_execution(query: Bound, events: pa.Table | None, forced: Choice) -> Execution:
    """How a bound query runs on some events."""
    blueprint = Blueprint(query)
    decision = decide_for(blueprint, events, forced)
    plan = tuple(plan_lines(blueprint, decision))
    if decision.choice.joins:
        join = blueprint.join_of(decision.choice)
        order = None if decision.choice.way is Way.TREE else order_of(decision.choice, join)
        return Execution(plan, tuple(_joined(join)), blueprint.join_source(frozenset(), order, join).text)
    lines, source = _runs(query, blueprint)
    return Execution(plan, lines, source)


def _runs(query: Bound, blueprint: Blueprint) -> tuple[tuple[str, ...], str]:
    """The automaton."""
    if blueprint.automaton is None:
        called = _calls(query, "called for each run and event")
        return (f"interpreted, one event after the other: {blueprint.reason}", *called), ""
    source = blueprint.source(frozenset())
    return tuple(_generated(query, blueprint.automaton, source)), source.text


def _joined(join: Join) -> Iterator[str]:
    """The stacks of a join."""
    lanes = ", ".join(join.lanes.columns + join.lanes.agreed)
    count = len(join.stacks)
    yield f"on a generated kernel: {count} stacks" + (f", apart for each {lanes}" if lanes else "")
    for x, stack in enumerate(join.stacks):
        before = ", ".join(join.stacks[y].variable for y in join.members(stack.group - 1))
        when = f"stored if {before} came before it in the window" if before else "stored"
        if x in join.members(join.groups - 1) and len(join.members(join.groups - 1)) == 1 and not join.waits:
            when = when.replace("stored", "used at once", 1) if before else when
        held = ", ".join(stack.columns) or "nothing"
        tests = ", ".join(print_expression(test.original) for test in stack.tests)
        what = f"{' or '.join(stack.types)}" + (f" with {tests}" if tests else "")
        yield f"stack {stack.variable}: {what}; {when}; holds {held}"


def _generated(query: Bound, automaton: Automaton, source: Source) -> Iterator[str]:
    states, registers = len(automaton.states), len(automaton.registers)
    yield f"on a generated kernel: {states} state{'s' * (states != 1)}, {registers} register{'s' * (registers != 1)}"
    for number, state in enumerate(automaton.states):
        held = ", ".join(sorted(register.name for register in automaton.live[number])) or "nothing"
        kind = "one run for each partition" if f"h{number}" in source.slots else "runs that agree on these are merged"
        variable = query.layout.places[automaton.configs[state.config].place].variable
        yield f"state {number}, after {variable}: holds {held}; {kind}"
    for mask in source.masks:
        yield f"computed once for each batch: {print_expression(mask.condition)}"
    yield from _calls(query, "called once for each event of its type, before the kernel runs")


def _calls(query: Bound, how: str) -> Iterator[str]:
    placed = query.placement
    conditions = [
        *(c for found in placed.at_place.values() for _, c in found),
        *(c for found in (*placed.at_exit.values(), *placed.of_witness.values()) for c in found),
    ]
    called = (node.function for c in conditions for node in walk(c) if isinstance(node, ex.Call))
    names = {name for name in called if name in query.functions}
    yield from (f"user function {name}: {how}" for name in sorted(names))
