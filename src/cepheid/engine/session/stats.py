"""Counters of a session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cepheid.engine.stream.pipeline import Pipeline


@dataclass(frozen=True, slots=True)
class Stats:
    """Counters of a session and the size of its state.

    events: how many were accepted.
    runs: live runs, merged ones counted once; with a plan of stacks, stored events.
    merged: how many runs were merged into another; 0 with stacks.
    state_bytes: how large the state is.
    matches: how many were given.
    late: how many events came after the watermark had passed them.
    plan: that of each query, separated by semicolons.
    replans: how often the plan was changed.
    tests: how often conditions over several events were evaluated, the steps of a search included.
    steps: with speculation: how many events were gone over, again and again if others came late.
    debts: retractions that wait for their event.
    """

    events: int
    runs: int
    merged: int
    state_bytes: int
    matches: int
    late: int
    plan: str = ""
    replans: int = 0
    tests: int = 0
    steps: int = 0
    debts: int = 0


def stats_of(pipelines: Sequence[Pipeline], *, events: int, matches: int, late: int) -> Stats:
    """What a session has counted, with what the pipelines of its queries hold."""
    queries = [query for pipeline in pipelines for query in pipeline.queries]
    machines = [query.machine for query in queries if query.machine is not None]
    streams = {id(stream): stream for pipeline in pipelines for _, stream in pipeline.every_stream()}.values()
    return Stats(
        events=events,
        runs=sum(machine.runs for machine in machines),
        merged=sum(machine.merged for machine in machines),
        state_bytes=sum(m.state_bytes() for m in machines) + sum(stream.kept.nbytes for stream in streams),
        matches=matches,
        late=late,
        plan="; ".join(query.plan for query in queries),
        replans=sum(query.replans for query in queries),
        tests=sum(query.tests for query in queries),
    )
