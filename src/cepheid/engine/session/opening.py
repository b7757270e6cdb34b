"""Sessions as options ask for them."""

from __future__ import annotations

from cepheid.engine.session.ahead_session import AheadSession
from cepheid.engine.session.delays import check_columns, read_delay, read_speculation
from cepheid.engine.session.engines import machine_factory, read_choice
from cepheid.engine.session.refused_calls import check_policy
from cepheid.engine.session.session_query import SessionQuery
from cepheid.engine.session.waiting_session import WaitingSession
from cepheid.errors import UsageError

AnySession = WaitingSession | AheadSession


def open_waiting(
    query: SessionQuery, engine: str, plan: str, *, lateness: object = None, late: str = "error"
) -> WaitingSession:
    """A session that emits matches once the watermark has passed them."""
    choice = read_choice(engine, plan)
    if engine == "reference":
        remedy = "use engine='auto', or speculate=0 for the same matches as changes"
        raise UsageError("CEP601", "engine 'reference' does not support sessions that only wait", remedy)
    check_policy(late)
    delay = _delay(query, lateness)
    return WaitingSession(query, machine_factory(engine, choice, None), lateness=delay, policy=late)


def open_ahead(
    query: SessionQuery,
    engine: str,
    plan: str,
    *,
    lateness: object = None,
    late: str = "error",
    speculate: object = None,
    op: str | None = None,
    sequence: str | None = None,
) -> AheadSession:
    """A session that emits changes; with `sequence`, the query goes over no gap in it itself."""
    choice = read_choice(engine, plan)
    recomputes = engine == "reference"
    factory = machine_factory("interpreted" if recomputes else engine, choice, None, steady=True)
    check_policy(late)
    delay = _delay(query, lateness)
    if speculate is not None:
        check_columns(query.compiled)
    ahead = read_speculation(speculate, query.compiled.roles.unit)
    return AheadSession(
        query,
        factory,
        lateness=delay,
        policy=late,
        speculates=speculate is not None,
        ahead=None if sequence is not None else ahead,  # no match goes over a gap, so that none can be undone
        op=op,
        sequence=sequence,
        recomputes=recomputes,
    )


def _delay(query: SessionQuery, lateness: object) -> int | None:
    return None if lateness is None else read_delay("lateness", lateness, query.compiled.roles.unit)
