"""Rows of a control stream (S17): what a row changes of a running query, and why some rows are refused.

What is decided of a row depends on the row, the watermark and the changes so far, and on no event. So everyone who is
given the same rows decides the same, however the events are divided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from cepheid.engine.session.history import AnyChange
from cepheid.engine.session.query_changes import AddQuery, RemoveQuery, ReplaceQuery
from cepheid.engine.session.session_query import SessionQuery
from cepheid.engine.session.written_changes import write_changes
from cepheid.errors import CepheidError, UsageError, did_you_mean
from cepheid.front.automata.timeline import AddArc, RemoveArc
from cepheid.language import parse
from cepheid.pattern.tree.nodes import ArcClause
from cepheid.pattern.tree.walk import arcs_in, fields_in

COLUMNS = ("id", "action", "text", "at")
"""The columns of a control row."""

ACTIONS = ("add_arc", "remove_arc", "add", "remove", "replace")
"""What a control row can do: with an arc of the automaton, or with a whole query."""


@dataclass(frozen=True, slots=True)
class ControlRow:
    """A row as it came.

    id: the name of what is changed. at: in ticks; None: from now on.
    """

    id: str | None
    action: str | None
    text: str | None
    at: int | None


@dataclass(frozen=True, slots=True)
class Refused:
    """A row that has changed nothing, and why."""

    row: ControlRow
    reason: str


@dataclass(frozen=True, slots=True)
class ControlDecision:
    """What becomes of some rows: the changes to make, one after the other, and the rows that are refused."""

    changes: list[AnyChange] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)


def decide(
    rows: Sequence[ControlRow],
    log: Sequence[AnyChange],
    like: SessionQuery,
    *,
    watermark: int | None,
    present: int,
    whole: int | None,
    shown: Callable[[int], object],
    make: Callable[[Sequence[AnyChange]], object],
) -> ControlDecision:
    """Decide about the rows that have come together. The order in which they came does not matter.

    Rows of one `id` and one time are made as one change, or refused together; removals come first.

    log: the changes so far. like: the query of the session. watermark: in ticks, before which nothing changes any more.
    present: when a row holds from that does not say it. whole: before when no query comes or goes; None: the watermark.
    shown: a time as a reader knows it. make: makes changes on trial, and raises if they can't be.
    """
    made = ControlDecision()
    known = [*write_changes(log, like)]

    def place(row: ControlRow) -> tuple[int, str]:
        return present if row.at is None else row.at, row.id or ""

    def order(row: ControlRow) -> tuple[int, str, bool, str, str, bool]:
        removes = row.action is not None and row.action.startswith("remove")
        return (*place(row), not removes, row.action or "", row.text or "", row.at is None)

    def read(row: ControlRow, at: int) -> AnyChange:
        change: AnyChange = replace(read_row(row, like), at=at)
        if watermark is not None and at < watermark:
            message = f"the change at {shown(at)} is before the watermark {shown(watermark)}"
            raise UsageError("CEP608", message, "let it hold from a later time on, or leave out `at`")
        if whole is not None and at < whole and isinstance(change, AddQuery | RemoveQuery):
            message = f"the change at {shown(at)} is before events that have come, the last before {shown(whole)}"
            remedy = "let it hold from a later time on, leave out `at`, or run the stream with speculate="
            raise UsageError("CEP608", message, remedy)
        return change

    for (at, _), together in groupby(sorted(rows, key=order), place):
        accepted: list[tuple[ControlRow, AnyChange]] = []
        wrong: list[Refused] = []
        for row in together:
            try:
                change = read(row, at)
                (written,) = write_changes([change], like)
            except CepheidError as error:
                wrong.append(Refused(row, reason_of(error)))
                continue
            if written in known:
                made.refused.append(Refused(row, _TWICE))
            else:
                known.append(written)
                accepted.append((row, change))
        if wrong:
            wrong.extend(Refused(row, _TOGETHER) for row, _ in accepted)
        elif accepted:
            try:
                make([change for _, change in accepted])
            except CepheidError as error:
                wrong = [Refused(row, reason_of(error)) for row, _ in accepted]
        if wrong:
            del known[len(known) - len(accepted) :]
        else:
            made.changes.extend(change for _, change in accepted)
        made.refused.extend(wrong)
    return made


_TWICE = "CEP615: the same change was made before; send each row once"
_TOGETHER = "CEP615: another row with the same `id` and time is refused; send them again together"


def read_row(row: ControlRow, like: SessionQuery) -> AnyChange:
    """What a row changes, without its time. like: whose parameters, functions and roles of columns other queries get.

    >>> from cepheid import Query
    >>> query = Query("AUTOMATON a -> b ARC a -> b WHEN e.x > 5", type=None)
    >>> read_row(ControlRow("done", "add_arc", "ARC a -> b WHEN e.x > 3", None), query).arc.name
    'done'
    >>> read_row(ControlRow("done", "remove_arc", None, None), query)
    RemoveArc(name='done', at=None)
    """
    if row.id is None or not row.id.strip():
        raise _refused("the row has no id", "name what it changes in the column `id`")
    name, text = row.id, row.text if row.text and row.text.strip() else None
    if row.action not in ACTIONS:
        raise _refused(f"unknown action {row.action!r}", did_you_mean(str(row.action), ACTIONS, "actions"))
    if row.action.startswith("remove"):
        if text is not None:
            raise _refused(f"{row.action} takes no text", "leave the column `text` NULL: `id` says what is removed")
        return RemoveArc(name) if row.action == "remove_arc" else RemoveQuery(name)
    if text is None:
        wanted = "the arc, ARC q0 -> q1 WHEN e.x > 5" if row.action == "add_arc" else "the query"
        raise _refused(f"{row.action} has no text", f"write {wanted} into the column `text`")
    if row.action == "add_arc":
        arc = _arc(text)
        return AddArc(arc if arc.name is not None else replace(arc, name=name))
    query = like.alike(text)
    return AddQuery(name, query) if row.action == "add" else ReplaceQuery(name, query)


def reason_of(error: CepheidError) -> str:
    """Why a row is refused, in one line."""
    place = "" if error.span is None else f" at '{error.span.excerpt}'"
    return " ".join(f"{error.code}: {error.message}{place}; {error.remedy}".split())


def _arc(text: str) -> ArcClause:
    """One line of an automaton."""
    queries = parse(f"AUTOMATON a -> b {text}").queries
    alone = replace(queries[0], pattern=_NOTHING.pattern, span=None) == replace(_NOTHING, span=None)
    arcs = arcs_in(queries[0])
    if len(queries) > 1 or not alone or fields_in(queries[0]) or len(arcs) != 1:
        remedy = "write one line into the column `text`, such as ARC q0 -> q1 WHEN e.x > 5, and nothing else"
        raise _refused("the text is not one arc", remedy)
    return arcs[0]


_NOTHING = parse("AUTOMATON a -> b ARC a -> b").queries[0]


def _refused(message: str, remedy: str) -> UsageError:
    return UsageError("CEP615", message, remedy)
