"""Which events concern a rule: those that pass what some arc asks of an event alone, so that others need not come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cepheid.automaton.model import RegisterAutomaton, Test
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.pattern.expressions.nodes import Expression


@dataclass(frozen=True, slots=True)
class Concern:
    """Events of some types (none: of any) for which all conditions hold; these read the event and its rule (`Now`).

    begins: such an event may begin a match, or must be absent before one begins; others matter only to runs that have
    begun.
    """

    types: tuple[str, ...]
    conditions: tuple[Expression, ...]
    begins: bool = False


def concerns(compiled: CompiledQuery) -> tuple[Concern, ...] | str:
    """What of a joined query an event must meet, any of it, to matter; or the reason why every event matters."""
    query = compiled.query
    if compiled.why_interpreted:
        return f"no kernel can run it: {compiled.why_interpreted}"
    if query.relevance.every is not None:
        return query.relevance.every.reason
    return tuple(dict.fromkeys(_all(compiled.automaton)))


def beginnings(compiled: CompiledQuery) -> tuple[Concern, ...]:
    """The same where every event matters, of rules of which no run has begun; none: every event does."""
    automaton = compiled.automaton if not compiled.why_interpreted else None
    if automaton is None or (compiled.query.counted and automaton.witnesses):  # events before the first one count
        return ()
    return tuple(dict.fromkeys(concern for concern in _all(automaton) if concern.begins))


def _all(automaton: RegisterAutomaton) -> Iterator[Concern]:
    for arc in automaton.arcs:
        yield _concern(arc.types, arc.fence, begins=arc.source is None)
    if not automaton.valued:  # else they end runs that have lasted too long, which others see as well
        yield from (_concern(kill.types, kill.fence) for kill in automaton.kills)
    yield from (_concern(witness.types, witness.fence, begins=True) for witness in automaton.witnesses)
    yield from (_concern(absent.types, absent.fence) for leave in automaton.exits for absent in leave.absent)


def _concern(types: tuple[str, ...], fence: Sequence[Test], *, begins: bool = False) -> Concern:
    return Concern(types, tuple(test.condition for test in fence if test.unary), begins)
