"""A pipeline that goes on with another query (S17): with its state, or with the events that it has kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cepheid.engine.machines.protocol import Machine
from cepheid.engine.program import QueryCache
from cepheid.engine.state_shape import clauses
from cepheid.engine.stream.in_memory import MemorySource
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.engine.stream.snapshot import load_pipeline
from cepheid.errors import PatternError
from cepheid.front.analysed import Analysed
from cepheid.front.runnable import Runnable
from cepheid.pattern.tree.nodes import Fires, Language, Output, QueryTree
from cepheid.pattern.tree.walk import arcs_in
from cepheid.plan.join import Join
from cepheid.values.json import Json

if TYPE_CHECKING:
    from cepheid.engine.planning.compiled_query import CompiledQuery


def fitting(pipeline: Pipeline, new: QueryCache) -> list[bool]:
    """Of each query of a pipeline whether its state is one of the other query too."""
    fits = []
    for number, (query, *pair) in enumerate(
        zip(pipeline.queries, pipeline.program.queries, new.program.queries, strict=True)
    ):
        schema = pipeline.streams[pipeline.program.sources[number]].schema
        compiled = pipeline.cache.query(number, schema), new.query(number, schema)
        fits.append(_holds_alike(*compiled) if _fits(*pair) else _alike(query.machine, *compiled))
    return fits


def _holds_alike(old: CompiledQuery, new: CompiledQuery) -> bool:
    """Whether matches wait for AT END in both automata, or in none: arcs that lead to no final state hold nothing."""
    if not old.query.body.waits:
        return True
    if old.why_interpreted or new.why_interpreted:
        return True
    return [hold.name for hold in old.program.holds] == [hold.name for hold in new.program.holds]


def _fits(old: Analysed, new: Analysed) -> bool:
    """Whether two queries differ in what no state knows of: constants, or arcs that come and go."""
    language = old.query.language
    return language is new.query.language and _CONVERSIONS[language].fits(old.query, new.query)


def _has_like_clauses(old: QueryTree, new: QueryTree) -> bool:
    return repr(clauses(old)) == repr(clauses(new))


def _has_like_ends(old: QueryTree, new: QueryTree) -> bool:
    """Runs know when they began only where AT END asks for it."""
    return _has_end(old) == _has_end(new)


@dataclass(frozen=True, slots=True)
class Conversion:
    """What becomes of the state of a query that is replaced.

    fits: whether two queries differ in what no state knows of. by_events: the state can be compared by what it keeps of
    events.
    """

    fits: Callable[[QueryTree, QueryTree], bool]
    by_events: bool = True


_CONVERSIONS: Mapping[Language, Conversion] = {
    Language.PATTERN: Conversion(_has_like_clauses),
    Language.AUTOMATON: Conversion(_has_like_ends, by_events=False),
    Language.CESAR: Conversion(_has_like_clauses),
}


def _alike(machine: Machine | None, old: CompiledQuery, new: CompiledQuery) -> bool:
    """Whether conditions differ, but not what is kept of events for them."""
    from cepheid.engine.machines.stack_machine import StackMachine  # kernels are not needed before

    if (
        not _CONVERSIONS[old.query.language].by_events
        or old.why_interpreted
        or new.why_interpreted
        or old.derived
        or new.derived
    ):
        return False
    if isinstance(machine, StackMachine):
        return not new.why_not_joined and _kept(old.join_of(machine.choice)) == _kept(new.join_of(machine.choice))
    return machine is None or (machine.kind == "scan" and _remembered(old) == _remembered(new))


def _kept(join: Join) -> object:
    """What a join keeps of events."""
    stacks = [(stack.variable, stack.types, stack.columns, stack.group, stack.negated) for stack in join.stacks]
    return stacks, join.partitions


def _remembered(compiled: CompiledQuery) -> object:
    """What runs remember: the automaton without its conditions, and where its runs are."""
    automaton = compiled.automaton
    rooms = [(room.name, room.keeping, room.registers) for room in compiled.program.rooms]
    exits = tuple(
        replace(exit_, fence=(), absent=tuple(replace(absent, fence=()) for absent in exit_.absent))
        for exit_ in automaton.exits
    )
    return (
        rooms,
        compiled.tests_having,
        replace(
            automaton,
            arcs=tuple(replace(arc, fence=()) for arc in automaton.arcs),
            kills=tuple(replace(kill, fence=()) for kill in automaton.kills),
            witnesses=tuple(replace(witness, fence=()) for witness in automaton.witnesses),
            exits=exits,
        ),
    )


def _has_end(query: QueryTree) -> bool:
    return any(arc.fires is Fires.END for arc in arcs_in(query))


def check_again(query: Runnable, name: str) -> None:
    """Refuse to go over the events again that are kept where they do not tell all that has happened."""
    why = ""
    if query.output is not Output.ALL:
        why = f"which matches OUTPUT {query.output.value} has given"
    elif query.cooldown:
        why = "which matches COOLDOWN has kept back"
    elif query.looks_back:
        why = "which events were absent before"
    if why:
        message = f"'{name}' can't have other conditions while it runs: the events that are kept don't tell {why}"
        remedy = "remove the query and add the new one under a name of its own"
        raise PatternError("CEP229", message, remedy)


def convert(state: Json, pipeline: Pipeline, fits: Sequence[bool], watermark: int | None) -> None:
    """Fill the pipeline of another query with a state in memory. watermark: all events before it are in it."""
    load_pipeline(state, MemorySource(), pipeline, fits)
    for query, known in zip(pipeline.queries, fits, strict=True):
        if not known and watermark is not None:
            # Runs that are under way have all their events among those that are kept.
            query.replay(watermark)
