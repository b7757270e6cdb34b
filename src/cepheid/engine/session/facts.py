"""What the header of a snapshot says of a session, besides its streams, machines and promises."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.engine.session.history import AnyChange
from cepheid.engine.session.session_query import SessionQuery
from cepheid.engine.session.written_changes import read_changes, write_changes
from cepheid.pattern.expressions.durations import NANOSECONDS
from cepheid.values.json import Json


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """How far a session is. Times are in ticks, but for the lateness, which is in nanoseconds.

    policy, late: what is done with late events, and how many there were.
    latest: the greatest time of an event that was accepted.
    log: how the queries have changed.
    over: whether the query was removed, and has given all that it gives.
    right_from: the time from which on the query that runs is right (S17).
    """

    watermark: int | None
    lateness: int | None
    policy: str
    late: int
    events: int
    matches: int
    latest: int | None
    log: list[AnyChange]
    over: bool
    right_from: int | None

    def written(self, query: SessionQuery) -> Json:
        """The facts of a session of a query, as a snapshot has them."""
        return {
            "fingerprint": query.compiled.fingerprint,
            "functions": sorted(query.compiled.functions),
            "watermark": self.watermark,
            "delay": self.lateness,
            "policy": self.policy,
            "late": self.late,
            "events": self.events,
            "matches": self.matches,
            "latest": self.latest,
            "changes": write_changes(self.log, query),
            "over": self.over,
            "right_from": self.right_from,
        }


def read_facts(facts: Json, query: SessionQuery) -> SessionFacts:
    """What was written, also by earlier releases."""
    return SessionFacts(
        watermark=facts["watermark"],
        lateness=facts["delay"] if "delay" in facts else _in_nanoseconds(facts["lateness"], query),
        policy=facts["policy"],
        late=facts["late"],
        events=facts["events"],
        matches=facts["matches"],
        latest=facts.get("latest"),
        log=read_changes(facts.get("changes", ()), type(query), query),
        over=facts.get("over", False),
        right_from=facts.get("right_from"),
    )


def _in_nanoseconds(lateness: int | None, query: SessionQuery) -> int | None:
    """The lateness of a snapshot that has it in the unit of the query."""
    return None if lateness is None else lateness * NANOSECONDS[query.compiled.roles.unit]
