"""Rows of a control stream (S17): what a row changes of a running query, and why some rows are refused.

What is decided of a row depends on the row, the watermark and the changes so far, and on no event. So everyone who is
given the same rows decides the same, however the events are divided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from cepheid.errors import CepheidError, UsageError, did_you_mean
from cepheid.language import parse
from cepheid.pattern.timeline import AddArc, Change, RemoveArc
from cepheid.pattern.tree import Arc, Automaton

COLUMNS = ("id", "action", "text", "at")
"""The columns of a control row."""


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
class Decision:
    """What becomes of some rows: the changes to make, one after the other, and the rows that are refused."""

    changes: list[Change] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)


def decide(
    rows: Sequence[ControlRow],
    log: Sequence[Change],
    *,
    watermark: int | None,
    present: int,
    shown: Callable[[int], object],
    check: Callable[[Sequence[Change]], object],
) -> Decision:
    """Decide about the rows that have come together. The order in which they came does not matter.

    Rows of one `id` and one time are made as one change, or refused together; removals come first.

    log: the changes so far. watermark: in ticks, before which nothing changes any more. present: when a row holds from
    that does not say it. shown: a time as a reader knows it. check: raises if the query can't change so.
    """
    made = Decision()

    def when(row: ControlRow) -> int:
        return present if row.at is None else row.at

    def place(row: ControlRow) -> tuple[int, str]:
        return when(row), row.id or ""

    def order(row: ControlRow) -> tuple[int, str, bool, str, str, bool]:
        removes = row.action is not None and row.action.startswith("remove")
        return (*place(row), not removes, row.action or "", row.text or "", row.at is None)

    for (at, _), together in groupby(sorted(rows, key=order), place):
        read: dict[Change, ControlRow] = {}
        wrong: list[Refused] = []
        for row in together:
            try:
                change = replace(read_row(row), at=at)
                if watermark is not None and at < watermark:
                    message = f"the change at {shown(at)} is before the watermark {shown(watermark)}"
                    raise UsageError("CEP608", message, "let it hold from a later time on, or leave out `at`")
            except CepheidError as error:
                wrong.append(Refused(row, reason_of(error)))
                continue
            if change in read or change in log or change in made.changes:
                made.refused.append(Refused(row, _TWICE))
            else:
                read[change] = row
        if wrong:
            wrong.extend(Refused(row, _TOGETHER) for row in read.values())
        elif read:
            try:
                check([*log, *made.changes, *read])
            except CepheidError as error:
                wrong = [Refused(row, reason_of(error)) for row in read.values()]
            else:
                made.changes.extend(read)
        made.refused.extend(wrong)
    return made


_TWICE = "CEP615: the same change was made before; send each row once"
_TOGETHER = "CEP615: another row with the same `id` and time is refused; send them again together"


def read_row(row: ControlRow) -> Change:
    """What a row changes, without its time.

    >>> read_row(ControlRow("done", "add_arc", "ARC a -> b WHEN e.x > 3", None)).arc.name
    'done'
    >>> read_row(ControlRow("done", "remove_arc", None, None))
    RemoveArc(name='done', at=None)
    """
    if row.id is None or not row.id.strip():
        raise _refused("the row has no id", "name what it changes in the column `id`")
    if row.action not in ACTIONS:
        remedy = did_you_mean(str(row.action), [name for name in ACTIONS if name], "actions")
        raise _refused(f"unknown action {row.action!r}", remedy)
    return ACTIONS[row.action](row.id, row.text if row.text and row.text.strip() else None)


def reason_of(error: CepheidError) -> str:
    """Why a row is refused, in one line."""
    place = "" if error.span is None else f" at '{error.span.excerpt}'"
    return " ".join(f"{error.code}: {error.message}{place}; {error.remedy}".split())


def _add_arc(name: str, text: str | None) -> Change:
    if text is None:
        raise _refused("add_arc has no text", "write the arc into the column `text`: ARC q0 -> q1 WHEN e.x > 5")
    arc = _arc(text)
    return AddArc(arc if arc.name is not None else replace(arc, name=name))


def _remove_arc(name: str, text: str | None) -> Change:
    _no_text("remove_arc", text)
    return RemoveArc(name)


def _arc(text: str) -> Arc:
    """One line of an automaton."""
    queries = parse(f"AUTOMATON a -> b {text}").queries
    alone = replace(queries[0], pattern=_NOTHING.pattern, span=None) == replace(_NOTHING, span=None)
    pattern = queries[0].pattern
    assert isinstance(pattern, Automaton)
    if len(queries) > 1 or not alone or pattern.register or len(pattern.arcs) != 1:
        remedy = "write one line into the column `text`, such as ARC q0 -> q1 WHEN e.x > 5, and nothing else"
        raise _refused("the text is not one arc", remedy)
    return pattern.arcs[0]


_NOTHING = parse("AUTOMATON a -> b ARC a -> b").queries[0]


def _no_text(action: str, text: str | None) -> None:
    if text is not None:
        raise _refused(f"{action} takes no text", "leave the column `text` NULL: `id` says what is removed")


def _refused(message: str, remedy: str) -> UsageError:
    return UsageError("CEP615", message, remedy)


ACTIONS: dict[str | None, Callable[[str, str | None], Change]] = {"add_arc": _add_arc, "remove_arc": _remove_arc}
"""How each action reads: from the id and the text."""
