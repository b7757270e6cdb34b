"""What a program says of the events that it reads, which these may contradict: it is derived once for each program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cepheid.engine.program import CompiledProgram
from cepheid.front.analysed import Analysed
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.expressions.parameters import window_nanoseconds
from cepheid.pattern.expressions.paths import Path
from cepheid.pattern.tree.flow import EVENTS
from cepheid.pattern.tree.nodes import Window


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time that a query names. clause: WITHIN, FOR or COOLDOWN.

    always_fits: a match is one event, which fits into any window.
    """

    clause: str
    window: Window
    nanoseconds: int
    always_fits: bool

    def ticks(self, schema: Schema) -> int:
        """Its length in ticks of the time column."""
        return -(-self.nanoseconds // schema.tick)


@dataclass(frozen=True, slots=True)
class Claims:
    """types: the types of events that queries name, not those of composite events, and whether only negations do.

    only_from: those that FROM names and no pattern does: a slip there hides events without a word.
    keys: of `[attr]` in queries that read the events themselves, not composite events, nor both.
    """

    durations: tuple[Duration, ...]
    types: Mapping[str, bool]
    only_from: frozenset[str]
    keys: frozenset[Path]

    def shortest(self, schema: Schema) -> int | None:
        """The shortest duration in ticks."""
        return min((duration.ticks(schema) for duration in self.durations), default=None)


def claims_of(program: CompiledProgram) -> Claims:
    """Derive what the queries of a program say of their events."""
    only_from = _types_of_from(program)
    return Claims(
        tuple(duration for analysed in program.queries for duration in _durations(analysed)),
        _types(program) | dict.fromkeys(only_from, False),
        only_from,
        frozenset(test.path for analysed, source in program.flow if source == EVENTS for test in analysed.same),
    )


def _durations(analysed: Analysed) -> Iterator[Duration]:
    """Those that one query names. Composite events have the times of events."""
    query, absent = analysed.query, analysed.layout.negations
    single = [component.array for component in analysed.components.values()] == [False]
    named = [("WITHIN", query.within), ("COOLDOWN", query.cooldown), *(("FOR", each.period) for each in absent)]
    for clause, window in named:
        if window is not None and window.unit != "events":
            nanoseconds = window_nanoseconds(window, analysed.roles.unit)
            yield Duration(clause, window, nanoseconds, always_fits=single and clause == "WITHIN")


def _types(program: CompiledProgram) -> dict[str, bool]:
    named: dict[str, bool] = {}
    for analysed, source in program.flow:
        for component in analysed.components.values() if None in source else ():
            for name in component.types:
                if name not in source:
                    named[name] = named.get(name, True) and component.negated
        named |= dict.fromkeys(analysed.types_named, False)
    return named


def _types_of_from(program: CompiledProgram) -> frozenset[str]:
    listed = {
        name
        for analysed, source in program.flow
        for stream in analysed.query.streams
        if None in source and stream.name not in source
        for name in stream.types
    }
    return frozenset(listed - {n for a, _ in program.flow for c in a.components.values() for n in c.types})
