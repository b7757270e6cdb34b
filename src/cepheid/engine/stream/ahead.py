"""What every way to be ahead of the watermark does (S15, S16)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from cepheid.engine.encoding.partition_times import PartitionTimes
from cepheid.engine.matches.changes import Difference
from cepheid.engine.stream.arrivals import Timed
from cepheid.engine.stream.event_log import EventLog, Net
from cepheid.engine.stream.parts import PartSource, Sink
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.values.json import Json


class Ahead(Protocol):
    """Emits matches before they are certain, and retracts them. Times are ticks."""

    head: Pipeline  # which knows the columns and the queries
    certain: int | None  # the time before which promises let nothing come that matters, where it is after the watermark
    until: int | None  # when its query is removed (S17): it gets no event after that
    steps: int  # how many events it went over, again and again if others came late

    @property
    def nbytes(self) -> int:
        """How many bytes the events and matches that are held take."""

    @property
    def debts(self) -> int:
        """How many retractions wait for their event."""

    def weigh(self, events: Timed, signs: Any, watermark: int | None) -> Net:
        """What insertions (1), retractions (-1) and a watermark do to the events. Nothing is changed yet."""

    def change(self, net: Net, watermark: int | None, *, closes: bool = False) -> list[Difference]:
        """Do it; what that changes of the matches of each query."""

    def final(self, watermark: int | None) -> int | None:
        """A time before which no change to come has its end."""

    def forget_partitions(self, ahead: PartitionTimes) -> None:
        """Let go of what partitions do not need of which all events before other times are in."""

    def save(self, sink: Sink) -> tuple[Json, Json]:
        """The state: of the pipeline, and what there is besides."""

    def load(self, state: Json, saved: Json, source: PartSource) -> None:
        """Take up what was saved."""


class Replaying(Ahead, Protocol):
    """One that keeps the events which can still change, as Spark's state does."""

    log: EventLog
    ahead: int | None  # how far it is ahead of the watermark; None: as far as there are events

    @property
    def is_blank(self) -> bool:
        """Whether it is as in the beginning: nothing came, or all was retracted."""

    @property
    def undecided(self) -> bool:
        """Whether events wait, or a match has ended that is not certain yet."""

    def deadlines(self) -> Iterator[int]:
        """The times at which there is something to do when it gets there, even if no event arrives."""


def further(time: int | None, certain: int | None) -> int | None:
    """The later of two times that may not be there."""
    return max((known_time for known_time in (time, certain) if known_time is not None), default=None)
