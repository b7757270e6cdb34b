"""The times of changes: in ticks as sessions have them, or as the time column has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from cepheid.engine.encoding.times import time_value, to_ticks
from cepheid.engine.session.history import EVER, AnyChange, check_is_change
from cepheid.engine.session.query_changes import AddQuery
from cepheid.errors import UsageError
from cepheid.front.automata.timeline import AddArc, RemoveArc
from cepheid.pattern.binding.schema import Schema


def in_ticks(changes: Sequence[object], schema: Schema, present: int | None) -> list[AnyChange]:
    """Changes with their times in ticks. present: when they hold from that do not say it; None: they must."""
    if not isinstance(changes, Iterable):
        raise UsageError("CEP603", f"{changes!r} is no list of changes", "pass a list: changes=[…]")
    return [_in_ticks(change, schema, present) for change in changes]


def _in_ticks(change: Any, schema: Schema, present: int | None) -> AnyChange:
    check_is_change(change)
    if change.at is None and present is None:
        raise UsageError("CEP603", "a change needs a time here", "say from when on it holds: at=…")
    at = present if change.at is None else _ticks(schema, "at", change.at)
    if isinstance(change, RemoveArc):  # of these and those that add arcs, there may be many
        return RemoveArc(change.name, at)
    if isinstance(change, AddArc):
        return AddArc(change.arc, at, None if change.until is None else _ticks(schema, "until", change.until))
    times = {"at": at}
    if isinstance(change, AddQuery) and change.until is not None:
        times["until"] = _ticks(schema, "until", change.until)
    moved: AnyChange = replace(change, **times)
    return moved


def _ticks(schema: Schema, name: str, value: object) -> int:
    if value == EVER:
        return EVER
    try:
        return to_ticks(schema, value, down=True)
    except UsageError as error:
        raise UsageError("CEP603", f"{name} can't be {value!r}", error.remedy) from None


def shown(changes: Sequence[AnyChange], schema: Schema) -> list[AnyChange]:
    """The same as `match(changes=…)` takes them: with times as the time column has them."""
    timed: list[AnyChange] = []
    for change in changes:
        times = {"at": _shown(change.at, schema)}
        if isinstance(change, AddArc | AddQuery):
            times["until"] = _shown(change.until, schema)
        timed.append(replace(change, **times))  # type: ignore[arg-type]
    return timed


def _shown(time: object, schema: Schema) -> object:
    return time if not isinstance(time, int) or time <= EVER else time_value(schema, time)
