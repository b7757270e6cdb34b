"""The ways to be ahead of the watermark: which one a session takes, and what each does when its query changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from cepheid.engine.matches.changes import Difference
from cepheid.engine.program import QueryCache
from cepheid.engine.session.recomputed import Recomputed
from cepheid.engine.session.session_query import SessionQuery
from cepheid.engine.session.turn import Turn
from cepheid.engine.stream.ahead import Ahead, Replaying
from cepheid.engine.stream.event_log import Net
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.engine.stream.speculation import Speculation
from cepheid.errors import PatternError
from cepheid.pattern.binding.schema import Schema
from cepheid.plan.spec import AUTO

if TYPE_CHECKING:
    from cepheid.engine.machines.factory import MachineFactory
    from cepheid.engine.stream.partition_replay import PartitionReplay


def new_way(
    make: Callable[[], Pipeline],
    schema: Schema,
    ahead: int | None,
    cache: QueryCache,
    factory: MachineFactory,
    *,
    by_partitions: bool,
) -> Ahead:
    """What gives matches ahead of the watermark. by_partitions: partition by partition, where the query allows it."""
    if by_partitions and ahead != 0 and factory.choice == AUTO:
        from cepheid.engine.stream.partition_replay import (
            PartitionReplay,
            why_not_by_partitions,
        )  # kernels are not needed before

        compiled = cache.query(0, schema)
        if factory.engine != "interpreted" and not compiled.query.untyped and not why_not_by_partitions(compiled):
            return PartitionReplay(make, ahead, compiled, factory.engine)
    return Speculation(make, ahead)


def replaying(way: Ahead) -> Replaying:
    """One that keeps events, as all do but the one that finds all matches anew."""
    assert not isinstance(way, Recomputed)
    return cast("Replaying", way)


def settled_by(way: Ahead | None) -> int | None:
    """A time before which no event is gone over any more."""
    if isinstance(way, Speculation):
        return way.kept[0].place
    if way is None or isinstance(way, Recomputed):
        return None
    return min((int(chunk.times.min()) for chunk in replaying(way).log.chunks if len(chunk.times)), default=None)


def recorded_by(way: Ahead) -> Callable[[int], tuple[pa.Table, np.ndarray, np.ndarray]]:
    """What gives the events from a time on that can still change, and the retractions that wait for theirs."""
    return way.recorded if isinstance(way, Recomputed) else replaying(way).log.recorded


def check_by_partitions(query: SessionQuery, schema: Schema) -> None:
    """Refuse a query that can't go on from one that runs partition by partition."""
    from cepheid.engine.stream.partition_replay import why_not_by_partitions

    why = why_not_by_partitions(query.cache.query(0, schema))
    if why:
        message = f"'{query.compiled.names[0]}' can't change to this query while it runs: {why}"
        raise PatternError(
            "CEP229", message, "open the session with engine='interpreted', or add it under another name"
        )


def rebuild(
    way: Ahead, make: Callable[[QueryCache], Pipeline], turn: Turn, net: Net, schema: Schema
) -> Sequence[Difference]:
    """Go on with another query; what that changes."""
    if turn.cache is not None:
        cache = turn.cache
        assert isinstance(way, Speculation)
        return way.retime(lambda: make(cache), cache, turn.first, net)
    assert turn.query is not None
    query, cache = turn.query, turn.query.cache
    if isinstance(way, Recomputed):
        return way.rebuild(lambda: make(cache), query.all_by_reference, net)
    if isinstance(way, Speculation):
        return way.rebuild(lambda: make(cache), turn.fits, turn.first, net)
    return cast("PartitionReplay", way).rebuild(lambda: make(cache), cache.query(0, schema), turn.first, net)
