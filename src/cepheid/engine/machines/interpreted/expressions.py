"""The steps of a CESAR expression (Algorithm 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cepheid.engine.machines.interpreted.stepper import PartitionKey
from cepheid.engine.machines.protocol import KeptRows, StateFacts
from cepheid.engine.machines.written_values import read, written
from cepheid.engine.matches.made_matches import made_matches
from cepheid.engine.matches.match_table import NONE, MatchTable
from cepheid.engine.matches.matches import Matches
from cepheid.front.cesar.linear import amount_of
from cepheid.front.cesar.result import algebra_in
from cepheid.front.runnable import Runnable
from cepheid.pattern.lints.subsets import too_many_runs
from cepheid.reference.event_automata import EventRunner, Instance
from cepheid.values.facts import Fact
from cepheid.values.rows import Event

MOST = 200_000
"""Instances of one partition at once, beyond which a query ends with an error before it takes all the memory."""


class ExpressionStepper:
    """What the reference does with the instances of a partition."""

    splits = False  # results of several partitions may be equal, and are one
    by_instant = True

    def __init__(self, query: Runnable) -> None:
        self.query = query
        self._runner = EventRunner(query, algebra_in(query).automaton)
        self._results: list[Fact] = []

    def begin(self) -> list[Instance]:
        return []

    def step(self, partition: list[Instance], instant: Sequence[Event]) -> None:
        """Go on with all events of an instant."""
        partition[:], results = self._runner.consume(partition, instant)
        if len(partition) > MOST:
            raise too_many_runs(self.query.pattern, {}, f"more than {MOST:,} instances at once in one partition")
        self._results += results

    def settle(self, partition: list[Instance], reached: int | None, horizon: int | None) -> None:
        """A result is certain when its instant is over: an event that is to come ends later."""

    def emit(
        self, partitions: Mapping[PartitionKey, list[Instance]], watermark: int | None, base: int
    ) -> MatchTable | Matches:
        """The results so far. Those of several partitions may be equal."""
        results, self._results = self._results, []
        return made_matches(self.query, list({fact.key: fact for fact in results}.values())) if results else NONE

    def end_runs(self, partition: list[Instance], before: int) -> None:
        """Results may end with any event."""

    def runs(self, partition: list[Instance]) -> int:
        return len(partition)

    def is_idle(self, partition: list[Instance]) -> bool:
        return not partition

    def bytes(self, partition: list[Instance]) -> int:
        return 600 * len(partition)

    def unsettled(self, partitions: Mapping[PartitionKey, list[Instance]]) -> int | None:
        """A result is certain when its instant is over."""
        return None

    def compact(self, partitions: dict[PartitionKey, list[Instance]], watermark: int) -> int | None:
        """Instances have values, and need no events; those are dropped that no event to come can end in time."""
        bounds = [None if bound is None else amount_of(bound) for bound in self._runner.automaton.bounds]
        for key, instances in list(partitions.items()):
            limits = ((instance, bounds[instance.state]) for instance in instances)
            instances[:] = [i for i, limit in limits if limit is None or i.event.start >= watermark - limit]
            if not instances:
                del partitions[key]
        return None

    def dump(self, partitions: Mapping[PartitionKey, list[Instance]]) -> StateFacts:
        """Instances by their keys, states and attributes."""
        saved = [
            [
                list(map(written, key)),
                [[i.state, i.event.start, i.event.end, list(map(written, i.event.values.values()))] for i in instances],
            ]
            for key, instances in partitions.items()
        ]
        return {"algebra": saved}

    def load(self, facts: StateFacts, rows: KeptRows) -> dict[PartitionKey, list[Instance]]:
        states = self._runner.automaton.states
        return {
            tuple(map(read, key)): [
                Instance(state, Fact(dict(zip(states[state].types, map(read, values), strict=True)), start, end))
                for state, start, end, values in saved
            ]
            for key, saved in facts["algebra"]
        }
