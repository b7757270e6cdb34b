"""Warnings about a query on its events: what runs without an error, and does not do what its author meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cached_property

import numpy as np
import pyarrow as pa

from cepheid.api.claims import Claims, claims_of
from cepheid.api.observed import TINY, Observed, key_name, observe
from cepheid.engine.program import CompiledProgram
from cepheid.errors import CepheidWarning, Place, nearest, warn
from cepheid.pattern.binding.schema import Roles, Schema
from cepheid.pattern.expressions.durations import NANOSECONDS, spell
from cepheid.pattern.expressions.types import Kind
from cepheid.pattern.tree.nodes import Window

ENOUGH = 10_000
"""Events from which on it means something that a type is not among them, even if there are more."""

_LIKENESS = {True: 0.6, False: 0.8}  # how much a name must be like another, if all events are known and if they are not
_OF_EVENTS = frozenset({"CEP005", "CEP006", "CEP008", "CEP009"})
_DISTINGUISHED_BY = re.compile(r"'[^']*'|^(?:WITHIN|FOR|COOLDOWN)\b")
_DIGITS = re.compile(r"\d+")
_SPAN = (978_307_200 * 10**9, 4_102_444_800 * 10**9)  # from 2001 to 2100: the times of nearly all events
_LEAST_TIMES = 4  # of fewer events it means nothing how far they are apart
_LEAST_TYPES = 8  # nor, of fewer, that a type is not among them
_UNITS = {"seconds": "s", "milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}


class Surprises:
    """The warnings of one query object, each of which is issued once."""

    def __init__(self, program: CompiledProgram) -> None:
        self.program = program
        self._issued: set[tuple[str, ...]] = set()

    def warn(self, warnings: Iterable[CepheidWarning], place: Place | None = None) -> None:
        """Issue those warnings that have not been issued before; at a place in the user's code, if not the current."""
        for warning in warnings:
            key = _key(warning)
            if key not in self._issued:
                self._issued.add(key)
                warn(warning, place)

    @cached_property
    def claims(self) -> Claims:
        """What the program says of its events."""
        return claims_of(self.program)

    def observe(self, schema: Schema, events: pa.Table, times: np.ndarray, *, whole: bool) -> Observed:
        """Look at some events. times: those of the events in ticks, in any order."""
        return observe(self.claims, schema, events, times, whole=whole)

    def of_query(self) -> Iterator[CepheidWarning]:
        """Warnings that need no events."""
        for analysed in self.program.queries:
            yield from analysed.surprises

    def of_schema(self, schema: Schema) -> Iterator[CepheidWarning]:
        """Warnings that need the columns of the events: a number without a unit says nothing beside timestamps."""
        for duration in self.claims.durations:
            window = duration.window
            if _has_no_unit(window, schema):
                spelt = f"{duration.clause} {getattr(window.amount, 'value', window.amount)}"
                message = f"{spelt} has no unit, and is read as {spelt.split()[1]} {schema.roles.unit}"
                remedy = f"write the unit: {spelt} seconds, or {spelt} {schema.roles.unit} if that is meant"
                yield CepheidWarning("CEP007", message, remedy)

    def of_events(self, schema: Schema, seen: Observed) -> Iterator[CepheidWarning]:
        if not seen.rows:
            return
        yield from self._types(seen)
        yield from self._empty(seen)
        units = list(self._units(schema, seen))
        yield from units
        if not units:  # with the wrong unit every window is wrong
            yield from self._windows(schema, seen)

    def of_retractions(self, unmet: int) -> Iterator[CepheidWarning]:
        """Retractions of events that are not there: maybe a change feed that was not read from its beginning."""
        if unmet:
            many = f"{unmet} retractions are ignored: their events were"
            ignored = many if unmet > 1 else "a retraction is ignored: its event was"
            remedy = "read the changes from their beginning, and retract rows that are equal in every column"
            yield CepheidWarning("CEP012", f"{ignored} never inserted", remedy)

    def _types(self, seen: Observed) -> Iterator[CepheidWarning]:
        """A type that no event has: it never matches, and its negation always holds.

        Of a positive one only if it looks misspelt. Of a negated one, or one that only FROM names, also if there are
        types that no query names.
        """
        named, listed = self.claims.types, self.claims.only_from
        others = sorted((seen.types or frozenset()) - named.keys())
        enough = _LEAST_TYPES if seen.whole or seen.ended else ENOUGH
        for name, negated in named.items() if others else ():
            if seen.types is None or name in seen.types:
                continue
            some = f"none of the first {seen.rows:,} events has" if seen.counted else "the tasks have seen no event of"
            message = f"{'no event has' if seen.whole else some} the type '{name}'" + (
                ", so that its negation always holds" if negated else ""
            )
            close = nearest(name, others, _LIKENESS[seen.whole])
            # Shelf1 is not a misspelling of Shelf2.
            if close is not None and _DIGITS.sub("", close) != _DIGITS.sub("", name):
                yield CepheidWarning("CEP005", message, f"did you mean '{close}'?")
            elif (negated or name in listed) and name not in seen.hidden and seen.rows >= enough:
                shown = ", ".join(others[:8]) + (", …" if len(others) > 8 else "")
                yield CepheidWarning("CEP005", message, f"types that the query does not name: {shown}")

    def _empty(self, seen: Observed) -> Iterator[CepheidWarning]:
        for name in sorted({key_name(path) for path in self.claims.keys} & seen.empty):
            which = "every event" if seen.whole else f"each of the first {seen.rows:,} events"
            without = f"{which} has NULL in" if seen.counted else "the tasks have seen no value in"
            message = f"{without} '{name}', so that [{name}] never holds"
            yield CepheidWarning("CEP008", message, "name a column that has values")

    def _units(self, schema: Schema, seen: Observed) -> Iterator[CepheidWarning]:
        """Integers that are dates of our time in another unit than the query's, beside a window that has a unit."""
        spelt = any(duration.window.unit is not None for duration in self.claims.durations)
        if seen.low is None or seen.high is None or not spelt:
            return
        unit_of_query, name = schema.roles.unit, schema.roles.time
        if schema.columns[name].kind is not Kind.INT or _is_our_time(seen, unit_of_query):
            return
        for unit, short in _UNITS.items():
            if _is_our_time(seen, unit):
                first = datetime.fromtimestamp(seen.low * NANOSECONDS[unit] // 10**9, UTC)
                message = f"the times in '{name}' are read as {unit_of_query}, and look like {unit} since 1970"
                shown = f"{message}: the first one would be of {first:%Y-%m-%d}"
                yield CepheidWarning("CEP009", shown, f"pass unit='{short}'")

    def _windows(self, schema: Schema, seen: Observed) -> Iterator[CepheidWarning]:
        if seen.gap is None or seen.rows < _LEAST_TIMES:
            return
        for duration in self.claims.durations:
            length = duration.ticks(schema)
            # `of_schema` reports a bare number.
            reported = duration.always_fits or _has_no_unit(duration.window, schema)
            if not reported and seen.gap > TINY * length:
                short, gap = spell(length * schema.tick), spell(seen.gap * schema.tick)
                some = f"of the first {seen.rows:,} events" if seen.counted else "events that the tasks have seen"
                which = "events" if seen.whole else some
                message = f"{duration.clause} is {short}, and no two {which} of different times are closer than {gap}"
                yield CepheidWarning("CEP006", message, f"check the unit of {duration.clause}")


def _key(warning: CepheidWarning) -> tuple[str, ...]:
    """What a warning is about: of how many events it is known does not matter."""
    if warning.code in _OF_EVENTS:
        return (warning.code, *_DISTINGUISHED_BY.findall(warning.message))
    return (warning.code, warning.message)


def _has_no_unit(window: Window, schema: Schema) -> bool:
    """Whether a window is a bare number beside timestamps, and nobody has said what it counts."""
    timed = schema.columns[schema.roles.time].kind in (Kind.TIMESTAMP, Kind.DATE)
    return timed and window.unit is None and schema.roles.unit == Roles().unit


def _is_our_time(seen: Observed, unit: str) -> bool:
    assert seen.low is not None
    assert seen.high is not None
    scale = NANOSECONDS[unit]
    return _SPAN[0] <= seen.low * scale and seen.high * scale < _SPAN[1]
