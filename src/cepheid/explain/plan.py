"""Which plan a query is run by, and why: the sample, the plans that were compared, and what was expected of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from cepheid.engine.encoding.batch import Batch, StreamCodes
from cepheid.engine.planning.candidates import Question
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.engine.planning.decision import Decision, decide
from cepheid.engine.planning.sample import take_sample
from cepheid.engine.stream.arrivals import Arrivals
from cepheid.engine.stream.rows import arrival_of
from cepheid.engine.stream.view import View
from cepheid.language import print_expression
from cepheid.plan.join import Join
from cepheid.plan.spec import AUTO, AUTOMATON, PlanSpec, identity, order_of
from cepheid.plan.statistics import Statistics

_SHOWN = 6  # plans, the cheapest first


def decide_for(compiled: CompiledQuery, events: pa.Table | None, forced: PlanSpec) -> Decision:
    """What would be decided for some events; without any, what can be said before there are."""
    if events is None or not events.num_rows:
        decision = decide(Question(compiled, forced))
        if forced == AUTO and decision.choice == AUTOMATON and not compiled.why_not_joined:
            return Decision(AUTO, "chosen when there are events: explain(table) shows how")
        return decision
    arrivals = Arrivals(compiled.query.schema)
    arrivals.add(arrival_of(compiled.query.schema, events))
    ordered = arrivals.release(None)
    assert ordered is not None
    batch: Batch | None = Batch(StreamCodes(compiled.query.schema), *ordered, 0)
    if batch is not None and compiled.query.scope is not None:
        batch = View(compiled.query, once=True).see(batch)
    if batch is None:
        return decide_for(compiled, None, forced)
    return decide(Question(compiled, forced, take_sample(compiled, batch)))


def plan_lines(compiled: CompiledQuery, decision: Decision) -> Iterator[str]:
    """The section of the plan."""
    yield f"{decision.choice.label}: {decision.reason}"
    if decision.statistics is not None:
        yield from _sample(compiled.join_of(decision.choice), decision.statistics)
    if decision.estimates:
        rows = [("plan", "work", "tests", "kept", "")]
        best = decision.estimates[0].nanoseconds
        shown = [e for e in decision.estimates if _same(compiled, e.plan, decision.choice)]
        shown += [e for e in decision.estimates if e not in shown][: _SHOWN - len(shown)]
        eager = [e for e in decision.estimates if e.plan == AUTOMATON and e not in shown]
        for estimate in sorted([*shown, *eager], key=lambda e: e.nanoseconds):
            mark = "taken" if _same(compiled, estimate.plan, decision.choice) else f"{estimate.nanoseconds / best:.1f}x"
            work, tests = f"{_number(estimate.nanoseconds)} ns", _number(estimate.tests)
            rows.append((estimate.plan.label, work, tests, _size(estimate.kept), mark))
        yield "expected for each event, and what is kept:"
        yield from _table(rows)
    if decision.choice.joins:
        yield from _join(compiled.join_of(decision.choice), decision.choice)


def _same(compiled: CompiledQuery, plan: PlanSpec, named: PlanSpec) -> bool:
    """Whether two plans are one: the last-first order has a name."""
    if not plan.joins or not named.joins:
        return plan == named
    return plan.partition == named.partition and identity(plan, compiled.join) == identity(named, compiled.join)


def _sample(join: Join, statistics: Statistics) -> Iterator[str]:
    """What the stream looks like."""
    yield f"sampled: {statistics.events:,} events, about {_number(statistics.window)} in a window"
    for stack, share in zip(join.stacks, statistics.shares, strict=True):
        absent = ", must be absent" if stack.negated else ""
        near = _number(share * statistics.window)
        yield f"  {stack.variable}: {100 * share:.3g} % of the events, {near} in a window{absent}"
    for name, count in statistics.keys.items():
        yield f"  {name}: about {_number(count)} values"
    for joint, share in zip(join.joints, statistics.selectivity, strict=True):
        yield f"  {print_expression(joint.test.original)}: holds {100 * share:.3g} times in a hundred"


def _join(join: Join, choice: PlanSpec) -> Iterator[str]:
    """In which order events are joined, and what is asked at each step."""
    names = [stack.variable for stack in join.stacks]
    if str(choice) == "tree":
        yield "begins with the component that has the fewest events, goes on with that of the fewest candidates"
        return
    order = order_of(choice, join)
    for k, y in enumerate(order):
        known = frozenset(order[: k + 1])
        asked = [j for j in join.joints if y in j.stacks and j.stacks <= known]
        said = "for each" if k == 0 else "then"
        tests = ", ".join(print_expression(j.test.original) for j in asked)
        yield f"{said} {names[y]}" + (f", with {tests}" if tests else "")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = []
    for name, *numbers in rows:
        cells = [name.ljust(widths[0]), *(n.rjust(w) for n, w in zip(numbers, widths[1:], strict=True))]
        lines.append("  ".join(["", *cells]).rstrip())
    return lines
