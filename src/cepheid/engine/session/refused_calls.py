"""Calls that a session refuses, whether it has one query or many."""

from __future__ import annotations

from cepheid.errors import UsageError, did_you_mean

LATE = ("error", "drop", "collect")


def check_policy(late: object) -> None:
    """Refuse a policy for late events that there is not."""
    if late not in LATE:
        remedy = did_you_mean(str(late), LATE, "policies")
        raise UsageError("CEP601", f"unknown policy {late!r} for late events", remedy)


def check_usable(opener: str, *, closed: bool, failed: bool) -> None:
    """Refuse to go on with a session that is closed, or has failed. opener: what has opened it."""
    if closed:
        raise UsageError("CEP606", "the session is closed", f"open a new one with {opener}.session()")
    if failed:
        remedy = f"fix the cause, and continue from the last snapshot with {opener}.restore(…)"
        raise UsageError("CEP606", "the session was stopped by an earlier error", remedy)


def check_forward(to: int, watermark: int | None, shown: object) -> None:
    """Refuse a watermark that goes back. shown: the time as it was given."""
    if watermark is not None and to < watermark:
        remedy = "pass a time that is not before the current watermark"
        raise UsageError("CEP606", f"the watermark {shown!r} is before the current one", remedy)


def advanced_too_early() -> UsageError:
    """Without columns there is no time to advance to."""
    remedy = "push first, if only an empty table, to define the columns"
    return UsageError("CEP606", "advance was called before the first push", remedy)


def only_waits(call: str) -> UsageError:
    """A session without `speculate` and `op` does not keep events that it has gone over."""
    message = f"{call} needs a session that keeps its events until they are certain"
    return UsageError("CEP606", message, "open it with q.session(speculate=0), or with op= for a stream of changes")
