"""How a query will run on events of a schema: on a generated kernel or not, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cepheid.automaton.model import Automaton
from cepheid.engine.blueprint import Blueprint
from cepheid.kernel.source import Source
from cepheid.language import print_expression
from cepheid.pattern import expressions as ex
from cepheid.pattern.bind import Bound
from cepheid.pattern.walk import walk


@dataclass(frozen=True, slots=True)
class Execution:
    """What `explain()` says of the run; `source` is the generated source, empty where there is none."""

    lines: tuple[str, ...]
    source: str = ""


def explain_execution(query: Bound) -> Execution:
    """How a bound query runs."""
    blueprint = Blueprint(query)
    if blueprint.automaton is None:
        called = _calls(query, "called for each run and event")
        return Execution((f"interpreted, one event after the other: {blueprint.reason}", *called))
    source = blueprint.source(frozenset())
    return Execution(tuple(_generated(query, blueprint.automaton, source)), source.text)


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
