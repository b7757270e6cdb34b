"""Streams whose events are numbered: a gap in the numbers is an event that is still to come (S15.6).

Under contiguity nothing can come between events with consecutive numbers. So a query that goes over no gap gives
matches that no late event can undo.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from cepheid.errors import PatternError
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import INT
from cepheid.pattern.tree.components import name_events
from cepheid.pattern.tree.nodes import EventPattern, Negation, Output, PatternTree, Program, Repeat, Seq, Strategy

_CONTIGUOUS = (Strategy.STRICT, Strategy.PARTITION)
_ONE = ex.Literal(1, INT)


def sequenced(program: Program, column: str, strategies: Iterable[Strategy]) -> Program:
    """The program without transitions over a gap in the numbers of a column. strategies: those of all variables."""
    if len(program.queries) > 1:
        raise _refused("a program", "run its queries in sessions of their own")
    (query,) = program.queries
    if any(strategy not in _CONTIGUOUS for strategy in strategies):
        raise _refused("a query that may skip events", "use strict_contiguity or partition_contiguity for all of it")
    if query.output is not Output.ALL:
        raise _refused(f"OUTPUT {query.output.value}", "leave it out: a choice can change when an event is late")
    pattern = name_events(query.pattern)
    conditions = tuple(_consecutive(pattern, column))
    return Program((replace(query, pattern=pattern, where=(*query.where, *conditions)),))


def _consecutive(pattern: PatternTree, column: str) -> Iterator[ex.Expression]:
    """Each event has the number after that of the event before."""

    def number(variable: str, index: ex.Index) -> ex.Expression:
        return ex.Attribute(variable, index, column)

    def follows(later: ex.Expression, earlier: ex.Expression) -> ex.Expression:
        return ex.Compare("=", later, ex.Arithmetic("+", earlier, _ONE))

    before: ex.Expression | None = None
    if not isinstance(pattern, Seq):
        pattern = Seq((pattern,))
    for part in pattern.parts:
        match part:
            case Negation() if part not in (pattern.parts[0], pattern.parts[-1]):  # nothing can be there anyhow
                continue
            case EventPattern(variable=str(name)):
                first = last = number(name, ex.Index.ONE)
            case Repeat(body=EventPattern(variable=str(name)), low=low) if low > 0:
                first, last = number(name, ex.Index.FIRST), number(name, ex.Index.LAST)
                yield follows(number(name, ex.Index.CURRENT), number(name, ex.Index.PREVIOUS))
            case _:
                remedy = (
                    "use a SEQ of events and closures such as A+ a[], without OR, AND, ?, * and negations at its ends"
                )
                raise _refused("this pattern", remedy)
        if before is not None:
            yield follows(first, before)
        before = last


def _refused(what: str, remedy: str) -> PatternError:
    return PatternError("CEP223", f"sequence= can't be used with {what}", remedy)
