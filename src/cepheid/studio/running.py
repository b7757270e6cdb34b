"""A query on the events: on some of them first, then on all."""

from __future__ import annotations

import time

import pyarrow as pa

from cepheid.studio.checking import heard, prepared, warning
from cepheid.studio.forms import Written
from cepheid.studio.jobs import Ticket
from cepheid.studio.source import SourceReading
from cepheid.studio.views import diagnose_view, explain_view, matches_view, timeline_view
from cepheid.values.json import Json

_LOOK = 0.2


def run(reading: SourceReading, written: Written, ticket: Ticket, *, sample: bool, timeline: bool) -> None:
    """Tell the matches of a query.

    sample: whether those of the first events are shown before all are read. timeline: whether they are drawn, too;
    that takes as long as to find them, and while a slider is dragged their number is what counts.
    """
    events = _events(reading, ticket)
    if events is None:
        return
    first = reading.sample if sample else None
    if first is not None:
        _match(reading, written, first, "sample", ticket, timeline=timeline)
    _match(reading, written, events, "all", ticket, timeline=timeline)


def explain(reading: SourceReading, written: Written, ticket: Ticket) -> None:
    """Report how a query is run."""
    with heard():
        explained = explain_view(prepared(reading.source, written), reading.table)
    ticket.check()
    ticket.tell({"kind": "explained", **explained})


def diagnose(reading: SourceReading, written: Written, ticket: Ticket) -> None:
    """Report where runs of a query end; of a large file, only some runs are followed."""
    events = _events(reading, ticket)
    if events is None:
        return
    with heard():
        diagnosed = diagnose_view(prepared(reading.source, written), events, reading.source.spelt, ticket.check)
    ticket.tell({"kind": "diagnosed", "diagnosis": diagnosed})


def _match(
    reading: SourceReading, written: Written, events: pa.Table, on: str, ticket: Ticket, *, timeline: bool
) -> None:
    ticket.check()
    begin = time.perf_counter()
    with heard() as warned:
        matches = prepared(reading.source, written).match(events, progress=ticket.progress(on))
        ticket.check()
        view: Json = matches_view(matches)
    seconds = time.perf_counter() - begin
    counted = {"kind": "matches", "on": on, "events": events.num_rows, "seconds": round(seconds, 4)}
    ticket.tell({**counted, **view, "warnings": [warning(reported, reading.source) for reported in warned]})
    ticket.check()
    if not timeline:
        return
    ticket.tell({"kind": "timeline", "on": on, "svg": timeline_view(matches) if view["count"] else None})


def _events(reading: SourceReading, ticket: Ticket) -> pa.Table | None:
    """The events, as soon as they are read."""
    while not reading.over.wait(_LOOK):
        ticket.check()
        ticket.tell({"kind": "reading", "share": reading.share})
    if reading.error is not None:
        raise reading.error
    if reading.table is None:
        ticket.tell({"kind": "no events"})
    return reading.table
