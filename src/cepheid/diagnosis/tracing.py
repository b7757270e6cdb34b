"""The two ways to run a query under a watcher: event by event, and by the definition."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from cepheid.diagnosis.steps import Teller
from cepheid.engine.machines.interpreted import Interpreted
from cepheid.pattern.bind import Bound
from cepheid.reference.interpreter import complete_runs
from cepheid.reference.output import arrange, choose
from cepheid.reference.own_automata import instants
from cepheid.reference.runs import Run
from cepheid.reference.watching import Watcher
from cepheid.values.rows import Event, read_events
from cepheid.values.scope import sight_of


def watch_steps(query: Bound, events: Sequence[Event], teller: Teller) -> int:
    """Run event by event until the teller has enough; how many events were read. What is given is told as well."""
    machine = Interpreted(query, teller)
    sees = sight_of(query)
    seen = [event for event in events if sees(event)]
    for instant in instants(query, seen):
        machine.step(instant)
        if teller.is_full and instant[-1] is not seen[-1]:
            give(query, machine.complete, teller)
            return instant[-1].position + 1
    give(query, machine.end(), teller)
    return len(events)


def watch_definition(query: Bound, table: pa.Table, watcher: Watcher) -> list[Run]:
    """Run by the definition, depth first; the matches."""
    return give(query, complete_runs(query, table, None, watcher), watcher)


def give(query: Bound, runs: Sequence[Run], watcher: Watcher) -> list[Run]:
    """The complete runs that are given (S9, S12, S24), with what becomes of the others."""
    given = choose(query, arrange(query, runs, watcher), None, watcher)
    for run in given:
        watcher.emitted(run)
    return given


def read(query: Bound, table: pa.Table) -> list[Event]:
    """The events of a table in their order."""
    return read_events(table, query.schema)
