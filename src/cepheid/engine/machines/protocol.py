"""What every machine does, whatever its plan."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import pyarrow as pa

from cepheid.engine.encoding.batch import Batch
from cepheid.engine.encoding.partition_times import PartitionTimes
from cepheid.engine.matches.match_table import LazyMatches, MatchTable
from cepheid.engine.matches.matches import Matches
from cepheid.kernel.arrays import Array
from cepheid.pattern.tree.partitioning import Partitioning
from cepheid.plan.spec import PlanSpec
from cepheid.values.json import Json

StateFacts = Json
"""What a header says of the state of a machine, as JSON."""


class KeptRows(Protocol):
    """The rows that matches may need: those of `kept`, of which the first has the id `base`."""

    @property
    def kept(self) -> pa.Table:
        """The events that the stream keeps, from the one with the id `base` on."""

    @property
    def base(self) -> int:
        """The id of the first."""

    @property
    def is_mixed(self) -> bool:
        """Whether they are not all in the order of S1, since partitions were ahead of others."""


class Machine(Protocol):
    """What runs a query. Times are ticks; events have ids, which count them since the stream began."""

    @property
    def kind(self) -> str:
        """Which kind can read its state."""

    @property
    def mode(self) -> str:
        """How it runs: compiled, plain or interpreted."""

    @property
    def plan(self) -> str:
        """By which plan, by its name."""

    @property
    def splits(self) -> bool:
        """Whether events of some partitions may come before earlier ones of others."""

    @property
    def tests(self) -> int:
        """How often conditions over several events were evaluated."""

    @property
    def merged(self) -> int:
        """How many runs became one with another."""

    @property
    def runs(self) -> int:
        """How many runs are alive."""

    def reserve(self, events: int) -> None:
        """So many events are to be expected in the next batches: make room, and compile if that pays."""

    def feed(self, batch: Batch) -> None:
        """Run on the next events of the stream; what they match is kept until `settle`."""

    def settle(
        self, watermark: int | None, rows: KeptRows, horizon: int | None = None
    ) -> MatchTable | LazyMatches | Matches:
        """The matches that became certain, given all events before a time (None: all), as rows that are kept.

        Those of a CESAR expression have rows of their own.

        horizon: where all events are in, until when absences are known; None: the end of the input ends them.
        """

    def unsettled(self) -> int | None:
        """The first event at which a match ends that is not certain yet."""

    def change_plan(self, choice: PlanSpec) -> bool:
        """Go on by another plan with the same state; False where that plan needs another state."""

    def reach_partitions(self, ahead: PartitionTimes | None) -> None:
        """All events before other times are in of some partitions; None: of none, beyond what settled them."""

    def end_runs(self, before: int) -> None:
        """No match to come ends before a time: give up runs whose window is over by then."""

    def compact(self, watermark: int) -> int | None:
        """Let go of what no match to come can need; the first event that one can have among those so far."""

    def held_partitions(self) -> Iterable[tuple[Partitioning, Array]]:
        """For each way in which it has split the stream: which partitions it needs."""

    def keep_partitions(self, partitions: Partitioning, alive: Array) -> None:
        """Partitions that nobody needs are given up; the others are numbered anew, in order."""

    def held_strings(self) -> Iterable[Array]:
        """The codes of strings that it needs."""

    def renumber_strings(self, number: Array) -> None:
        """Strings have other codes from then on: `number` has the new one of each."""

    def state_bytes(self) -> int:
        """How much the state takes."""

    def dump(self) -> tuple[StateFacts, list[Array]]:
        """The state: facts for a header, and flat arrays."""

    def load(self, facts: StateFacts, arrays: list[Array], rows: KeptRows) -> None:
        """Take up a state that was dumped."""
