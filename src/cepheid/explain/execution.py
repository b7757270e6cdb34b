"""How a query will run on events of a schema: on a generated kernel or not, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from cepheid.engine.encoding.scope_filter import ScopeFilter
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.explain.plan import decide_for, plan_lines
from cepheid.explain.plan_graph import plan_graph
from cepheid.front.runnable import Runnable
from cepheid.kernel.scan.kernel import ScanKernel
from cepheid.kernel.scan.program import ScanProgram
from cepheid.language import print_expression
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.tree.walk import walk
from cepheid.pictures import Graph
from cepheid.plan.join import Join
from cepheid.plan.spec import PlanKind, PlanSpec, order_of


@dataclass(frozen=True, slots=True)
class Execution:
    """What `explain()` says of the plan and of the run; `source` is the generated source, empty where there is none."""

    plan: tuple[str, ...]
    lines: tuple[str, ...]
    source: str = ""
    graph: Graph | None = None


def explain_execution(query: Runnable, events: pa.Table | None, forced: PlanSpec) -> Execution:
    """How a bound query runs on some events."""
    compiled = CompiledQuery(query)
    decision = decide_for(compiled, events, forced)
    plan, graph = tuple(plan_lines(compiled, decision)), plan_graph(compiled, decision, events)
    if decision.choice.joins:
        join = compiled.join_of(decision.choice)
        order = None if decision.choice.way is PlanKind.TREE else order_of(decision.choice, join)
        return Execution(
            plan,
            (*_joined(join), *_derived(compiled), *_seen(query)),
            "\n\n".join(code.text for code in compiled.join_kernel(join, frozenset(), order).functions),
            graph,
        )
    lines, source = _runs(query, compiled)
    return Execution(plan, (*lines, *_seen(query)), source, graph)


def _runs(query: Runnable, compiled: CompiledQuery) -> tuple[tuple[str, ...], str]:
    """Say what runs the automaton; the second text is the code of its kernel, where it has one."""
    if compiled.why_interpreted:
        called = _calls(query, "called for each run and event")
        return (f"interpreted, one event after the other: {compiled.why_interpreted}", *called), ""
    kernel = compiled.scan(frozenset())
    lines = _scanned(query, compiled.program, kernel, having=compiled.tests_having, tried=compiled.tried is not None)
    return (*lines, *_derived(compiled)), kernel.code.text


def _seen(query: Runnable) -> Iterator[str]:
    """How the condition of FROM is tested."""
    if query.scope is None:
        return
    scope_filter = ScopeFilter(query)
    for condition in (test.original for test in scope_filter.vectorised):
        yield f"FROM, on whole columns: {print_expression(condition)}"
    for condition in (*scope_filter.calls, *scope_filter.others):
        yield f"FROM, one event after the other: {print_expression(condition)}"


def _derived(compiled: CompiledQuery) -> Iterator[str]:
    """The columns that are made before a kernel runs."""
    for name, column in compiled.derived.items():
        yield f"{'read' if column.steps else 'computed'} once for each batch, as a column: {name}"


def _joined(join: Join) -> Iterator[str]:
    """The stacks of a join."""
    partitions = ", ".join(join.partitions.columns + join.partitions.agreed)
    count = len(join.stacks)
    yield f"on a generated kernel: {count} stacks" + (f", apart for each {partitions}" if partitions else "")
    for x, stack in enumerate(join.stacks):
        before = ", ".join(join.stacks[y].variable for y in join.members(stack.group - 1))
        when = f"stored if {before} came before it in the window" if before else "stored"
        if x in join.members(join.groups - 1) and len(join.members(join.groups - 1)) == 1 and not join.waits:
            when = when.replace("stored", "used at once", 1) if before else when
        held = ", ".join(stack.columns) or "nothing"
        tests = ", ".join(print_expression(test.original) for test in stack.tests)
        what = f"{' or '.join(stack.types)}" + (f" with {tests}" if tests else "")
        yield f"stack {stack.variable}: {what}; {when}; holds {held}"


def _scanned(query: Runnable, program: ScanProgram, kernel: ScanKernel, *, having: bool, tried: bool) -> Iterator[str]:
    states, registers = len(program.rooms), len(program.automaton.registers)
    yield f"on a generated kernel: {states} state{'s' * (states != 1)}, {registers} register{'s' * (registers != 1)}"
    for room in program.rooms:
        held = ", ".join(register.name for register in room.registers) or "nothing"
        kept = "one run for each partition" if room.is_slot else "runs that agree on these are merged"
        label = program.automaton.configs[room.state.config].label
        yield f"state {room.number}, after {label}: holds {held}; {kept}"
    if program.simultaneous:
        yield "events of one time: what they begin or end is so after the last of them"
    if query.having is not None:
        when = "tested when a run is complete" if having else "tested on matches, one by one"
        yield f"HAVING: {when}{'; by match, when a run is complete, unless these are too many' if tried else ''}"
    for mask in kernel.masks:
        yield f"computed once for each batch: {print_expression(mask.condition)}"
    yield from _calls(query, "called once for each event of its type, before the kernel runs")


def _calls(query: Runnable, how: str) -> Iterator[str]:
    conditions = (*query.conditions, *query.body.expressions())
    called = (node.function for c in conditions for node in walk(c) if isinstance(node, ex.Call | ex.AggregateCall))
    names = {name for name in called if name in query.functions}
    yield from (f"user function {name}: {how}" for name in sorted(names))
