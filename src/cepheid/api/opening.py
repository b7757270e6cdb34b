"""Sessions of a query: opened, and restored from a snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cepheid.api.change_session import ChangeSession
from cepheid.api.fingerprint import fingerprint_of
from cepheid.api.options import read_column
from cepheid.api.session import Session
from cepheid.engine.session.opening import open_ahead, open_waiting
from cepheid.engine.session.refused_changes import retracts_numbers
from cepheid.engine.stream.snapshot import from_bytes
from cepheid.errors import UsageError

if TYPE_CHECKING:
    from cepheid.api.query import Query


def open_session(
    query: Query,
    engine: str,
    plan: str,
    lateness: object,
    late: str,
    *,
    speculate: object,
    op: str | None,
    sequence: str | None,
    trace: int | None,
) -> Session:
    """A session of either kind; the arguments are those of `Query.session`."""
    if sequence is not None:
        if op is not None:
            raise retracts_numbers()
        sequenced = query.sequenced(sequence)
        return sequenced.change_session(engine, plan, lateness, late, speculate, sequence=sequence, trace=trace)
    if speculate is not None or op is not None:
        return query.change_session(engine, plan, lateness, late, speculate, op=op, trace=trace)
    return Session(query, open_waiting(query, engine, plan, lateness=lateness, late=late), trace=trace)


def open_change_session(
    query: Query,
    engine: str,
    plan: str,
    lateness: object,
    late: str,
    speculate: object,
    *,
    op: str | None,
    sequence: str | None,
    trace: int | None,
) -> ChangeSession:
    """Open a session that emits changes.

    With `sequence` the query must have been compiled with it (`Query.sequenced`), so that no match spans a gap.
    """
    session = open_ahead(
        query,
        engine,
        plan,
        lateness=lateness,
        late=late,
        speculate=speculate,
        op=read_column("op", op, query.compiled.roles),
        sequence=sequence,
    )
    return ChangeSession(query, session, trace=trace)


def restored_session(query: Query, blob: bytes, engine: str, plan: str, trace: int | None) -> Session:
    """A session that continues from a snapshot."""
    header, source = from_bytes(blob)
    if "many" in header:
        message = "the snapshot is of a session of many queries"
        raise UsageError("CEP607", message, "restore it with the Queries that it was taken from")
    facts = header["session"]
    options: dict[str, Any] = {name: facts.get(name) for name in ("speculate", "op", "sequence")}
    sequenced, known = query.sequenced(options["sequence"]), facts.get("functions", [])
    if facts["fingerprint"] == fingerprint_of(sequenced.parsed, sequenced.params, sequenced.compiled.roles, known):
        facts["fingerprint"] = sequenced.compiled.fingerprint  # the other functions are for added queries
    session: Session = query.session(engine=engine, plan=plan, trace=trace, **options)
    session.load(header, source)
    return session
