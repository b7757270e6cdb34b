"""Everything that the Spark room reads of a query or a session beyond their public API.

No other module of this room touches a private field of the API or the inner state of the engine. When the engine
changes, this is the file to change.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from cepheid.api import Query, Session
from cepheid.engine.generated import Generated
from cepheid.engine.pipeline import Pipeline
from cepheid.engine.snapshot import Sink, Source
from cepheid.engine.stage import Stage
from cepheid.engine.times import tick, ticks
from cepheid.pattern.analysis import Analysed
from cepheid.pattern.bind import Bound, bind
from cepheid.pattern.schema import Roles, Schema, make_schema

# Queries.


def roles_of(query: Query) -> Roles:
    """Return which columns hold the time and the type, and which break ties."""
    return query._roles


def schema_for(query: Query, events: pa.Schema) -> Schema:
    """Check event columns against the roles that the query gives them, and return both together."""
    return make_schema(events, query._roles)


def program_of(query: Query) -> list[tuple[Analysed, str | None]]:
    """Return each query of a program with the INTO name that it reads, or None if it reads the events themselves."""
    return list(zip(query._analysed, query._sources, strict=True))


def bind_program(query: Query, events: pa.Schema) -> list[Bound]:
    """Bind each query of a program to the columns that it reads."""
    pipeline = Pipeline(query._plan("interpreted", 0), schema_for(query, events))
    return [stage.query for stage in pipeline.stages]


def bind_event_queries(query: Query, events: pa.Schema) -> list[Bound]:
    """Bind only those queries of a program that read the events themselves."""
    schema = schema_for(query, events)
    return [bind(analysed, schema, query._functions) for analysed, source in program_of(query) if source is None]


def has_user_functions(query: Query) -> bool:
    """Tell whether the query calls Python functions of the user. The fingerprint knows them by name only."""
    return bool(query._functions)


def fingerprint_of(query: Query) -> str:
    """Return a digest of the query's text, parameters, function names and column roles."""
    return query._fingerprint()


# Sessions.


def save_session(session: Session, sink: Sink) -> dict[str, Any]:
    """Write the state of a session to a sink, and return the header that `load_session` needs."""
    return session._save(sink)


def load_session(session: Session, saved: dict[str, Any], source: Source) -> None:
    """Restore the state that `save_session` wrote into a new session of the same query."""
    session._load(saved, source)


def saved_event_count(saved: dict[str, Any]) -> int:
    """Return how many events a saved session had taken in."""
    count: int = saved["session"]["events"]
    return count


def window_ticks(session: Session) -> list[int] | None:
    """Return the window of each query in ticks, or None if one of them is not bounded in time."""
    windows = []
    for stage in _stages(session):
        within = stage.query.within
        if within is None or within.nanoseconds is None:
            return None
        windows.append(-(-within.nanoseconds // tick(stage.schema)))
    return windows


def absence_deadlines(session: Session) -> Iterator[int]:
    """Yield the watermarks, in ticks, at which a negation at the end of a match is decided even if no event arrives."""
    for stage in _stages(session):
        within = stage.query.within
        if not stage.kept.num_rows or within is None or within.nanoseconds is None:
            continue
        end = stage.machine.unsettled()
        if end is not None:
            first, last = (int(ticks(stage.schema, stage.kept.slice(at, 1))[0]) for at in (0, end - stage.base))
            yield max(first - (-within.nanoseconds // tick(stage.schema)), last + 1)


def has_undecided_matches(session: Session) -> bool:
    """Tell whether events wait to be ordered, or a match has ended that is not certain yet."""
    return any(stage.arrivals.tables or stage.machine.unsettled() is not None for stage in _stages(session))


def clear_at_next_step(session: Session) -> None:
    """Make the session discard whatever it can at its next step.

    By itself it waits until there is much to discard. In a stream that state would be written in every micro-batch.
    """
    for stage in _stages(session):
        stage.enough = 0
        machine = _machine(stage)
        if hasattr(machine, "enough"):
            machine.enough = 0


def postpone_clearing(session: Session) -> None:
    """Make a restored session clear its state only once it has grown, as if it had just been cleared."""
    for stage in _stages(session):
        stage.enough = 2 * stage.kept.num_rows + 256
        machine = _machine(stage)
        if isinstance(machine, Generated):
            machine.enough = 2 * len(machine.lanes) + 16


def reserve_room(session: Session, events: int) -> None:
    """Reserve array space for the events of a micro-batch.

    A kernel stops whenever its arrays are full, and a restored one has only as much space as it was saved with.
    """
    for stage in _stages(session):
        machine = _machine(stage)
        if isinstance(machine, Generated):
            for name in ("nodes", "matches"):
                machine.room[name] = max(machine.room[name], min(2 * events, _MOST_ROOM))


_MOST_ROOM = 65_536


def _stages(session: Session) -> list[Stage]:
    return session._opened.stages


def _machine(stage: Stage) -> Any:
    """Return what runs the query; a machine that chooses among plans has the chosen one inside."""
    return getattr(stage.machine, "inner", None) or stage.machine
