"""Which options a stream of changes can't have, and why."""

from __future__ import annotations

from cepheid.errors import UsageError
from cepheid.spark.options import Options


def check_changes(options: Options) -> None:
    """Refuse options that have no meaning where matches, or events, can be retracted."""
    if options.speculate is not None and options.long:
        raise no_long_changes()
    if options.speculate is not None and options.event_time is not None:
        message = "event_time and speculate can't be combined: a match that may be retracted has no such time"
        remedy = "leave out speculate to follow certain matches, or write the changes to a table and read that"
        raise UsageError("CEP603", message, remedy)
    if options.control is not None:
        check_with_control(options)
    name = next((name for name in ("speculate", "op", "sequence") if getattr(options, name) is not None), None)
    if options.migrate and name is not None:
        message = f"migrate and {name} can't be combined: what the old query emitted could not be retracted"
        raise UsageError("CEP603", message, "start the changed query with a new checkpoint location")


def check_with_control(options: Options) -> None:
    """Refuse options that a stream whose query changes can't have."""
    reasons = {
        "migrate": "the changes so far are of the old query",
        "sequence": "a change may retract what was emitted over numbers without a gap",
        "event_time": "when a match is certain depends on the query that emits it",
    }
    for name, reason in reasons.items():
        if getattr(options, name):
            raise UsageError("CEP603", f"control and {name} can't be combined: {reason}", f"leave out {name}=")


def no_long_changes() -> UsageError:
    """Make the error for changes in long form."""
    remedy = "leave out long=True, and explode the events of the matches that stand: cep.spark.current(changes)"
    return UsageError("CEP603", "long and speculate can't be combined: a change is of a match, not of an event", remedy)
