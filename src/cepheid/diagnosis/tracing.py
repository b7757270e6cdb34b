"""The two ways to run a query under a watcher: event by event, and by the definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from cepheid.diagnosis.steps import Teller, key_of
from cepheid.engine.machines.interpreted.machine import Interpreted
from cepheid.engine.machines.interpreted.patterns import PartitionState, PatternStepper
from cepheid.front.runnable import Runnable
from cepheid.pattern.tree.nodes import Output
from cepheid.reference.interpreter import complete_runs
from cepheid.reference.output import arrange, choose, may_start, partition_of, pass_having
from cepheid.reference.own_automata import instants
from cepheid.reference.runs import Run
from cepheid.reference.watching import SILENT, Watcher
from cepheid.values.partitions import partition_key
from cepheid.values.rows import Event, read_events
from cepheid.values.scope import sight_of
from cepheid.values.value import Value

PartitionKey = tuple[Value, ...]


def watch_steps(query: Runnable, events: Sequence[Event], teller: Teller) -> int:
    """Run event by event until the teller has enough; how many events were read. What is emitted is a step as well."""
    stepper = PatternStepper(query, teller)
    machine = Interpreted(query, stepper)
    sees = sight_of(query)
    seen = [event for event in events if sees(event)]
    for instant in instants(query, seen):
        machine.step(instant)
        if teller.is_full and instant[-1] is not seen[-1]:
            emit_certain(stepper, machine.partitions, instant[-1].time, teller)
            return instant[-1].position + 1
    emit(query, stepper.end(machine.partitions), teller)
    return len(events)


def watch_definition(query: Runnable, table: pa.Table, watcher: Watcher) -> list[Run]:
    """Run by the definition, depth first; the matches."""
    return emit(query, complete_runs(query, table, None, watcher), watcher)


def emit(query: Runnable, runs: Sequence[Run], watcher: Watcher) -> list[Run]:
    """Emit the complete runs that stand (S9, S12, S24), with what becomes of the others."""
    ordered = sorted(runs, key=key_of)  # of equal matches the same one is kept, whatever found them first
    chosen = choose(query, arrange(query, ordered, watcher), None, watcher)
    for run in chosen:
        watcher.emitted(run)
    return chosen


def emit_certain(
    stepper: PatternStepper, partitions: Mapping[PartitionKey, PartitionState], watermark: int, watcher: Watcher
) -> None:
    """Emit what no event to come can change. watermark: all events before it are in."""
    query = stepper.query
    for partition in partitions.values():
        stepper.decide(partition, watermark, watermark)
    complete = stepper.complete
    if query.output is Output.ALL:
        emit(query, complete, watcher)
        return
    stepper.runner.watcher = SILENT  # what may still become of runs is no step of theirs
    passed = pass_having(query, arrange(query, sorted(complete, key=key_of), watcher), watcher)
    growing = list(stepper.growing(partitions)) if query.output is Output.LONGEST else []
    settled = set(map(id, stepper.chosen.settle(passed, list(stepper.pending(partitions)), growing, watermark)))
    busy = stepper.chosen.busy
    certain = [
        run for run in passed if id(run) in settled or not may_start(query, run, busy.get(partition_of(query, run)))
    ]
    for run in choose(query, certain, None, watcher):
        watcher.emitted(run)


def by_partitions(query: Runnable, instant: Sequence[Event]) -> dict[PartitionKey, list[Event]]:
    """The events of an instant, by the partitions that they belong to."""
    partitions: dict[PartitionKey, list[Event]] = {}
    for event in instant:
        key = partition_key(query.partitions, event)
        if key is not None:
            partitions.setdefault(key, []).append(event)
    return partitions


def read(query: Runnable, table: pa.Table) -> list[Event]:
    """The events of a table in their order."""
    return read_events(table, query.schema)
