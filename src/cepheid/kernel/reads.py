"""How a kernel reads the event at hand: its columns, its type, and conditions that are computed beforehand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cepheid.automaton.model import NotNative, Now, Test
from cepheid.kernel.arguments import (
    CELLS,
    FACTS,
    MASK,
    ColumnNulls,
    ColumnValues,
    EventArray,
    EventFact,
    Mask,
    PieceBits,
    PieceValues,
)
from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.fold import all_of, any_of
from cepheid.kernel.code.types import BOOL, INT64, UINT8
from cepheid.kernel.constants import Constants
from cepheid.kernel.expressions import KernelSort, KernelTranslator, Value, sort_of
from cepheid.kernel.names import identifier
from cepheid.pattern.expressions import nodes as ex

I = n.Local("i", INT64)  # noqa: E741  the event at hand
KIND = n.Local("kind", INT64)  # the number of its type in the query


PIECE = n.Local("piece", INT64)  # which of the pieces of time it is in


BITS = 62
"""Columns that are true or false, in one word."""


def piece_word(number: int) -> n.Local:
    """A word of such columns, for the time of the event."""
    return n.Local(f"piece_bits_{number}", INT64)


class EventReader:
    """The arrays of events that a kernel turns out to need.

    timed: columns that are a function of the time; bits: likewise, of those that are true or false.
    """

    def __init__(
        self,
        types: tuple[str, ...],
        nullable: frozenset[str],
        constants: Constants,
        timed: frozenset[str] = frozenset(),
        bits: tuple[str, ...] = (),
    ) -> None:
        self.types = types
        self.nullable = nullable
        self.timed = timed
        self.bits = {column: divmod(number, BITS) for number, column in enumerate(bits)}
        self.arrays: dict[EventArray, None] = {}
        self.names: dict[str, str] = {}
        self.masks: list[Mask] = []
        self.translator = KernelTranslator(self.leaf, constants)

    def fact(self, fact: EventFact) -> n.Array:
        """One of the facts of an event."""
        self.arrays[EventArray(FACTS[fact], fact)] = None
        return FACTS[fact]

    def leaf(self, node: ex.Expression) -> Value | None:
        """An attribute of the event at hand."""
        return self.column(node.column, sort_of(node.type)) if isinstance(node, Now) else None

    def column(self, column: str, sort: KernelSort) -> Value:
        """A column's value, and whether it is NULL."""
        name = self._name(column)
        if column in self.bits:
            word, bit = self.bits[column]
            return Value((piece_word(word) & (1 << bit)).differs(0).to(UINT8), sort)
        if column in self.timed:
            array = n.Array(f"piece_{name}", sort.scalar)
            self.arrays[EventArray(array, PieceValues(column))] = None
            return Value(array[PIECE], sort)
        array = n.Array(f"event_{name}", sort.scalar)
        self.arrays[EventArray(array, ColumnValues(column))] = None
        return Value(array[I], sort, self.null(column))

    def piece_words(self) -> Iterator[tuple[n.Local, n.Array]]:
        """The words that have bits of the time, and their arrays."""
        for word in sorted({word for word, _ in self.bits.values()}):
            array = n.Array(f"bits_{word}", INT64)
            self.arrays[EventArray(array, PieceBits(word))] = None
            yield piece_word(word), array

    def null(self, column: str) -> n.Expr:
        """Whether a column is NULL."""
        if column not in self.nullable:
            return n.FALSE
        array = n.Array(f"null_{self._name(column)}", UINT8)
        self.arrays[EventArray(array, ColumnNulls(column))] = None
        return array[I].differs(0)

    def _name(self, column: str) -> str:
        if column not in self.names:
            base = identifier(column)
            taken = set(self.names.values())
            self.names[column] = base if base not in taken else f"{base}_{len(taken)}"
        return self.names[column]

    def is_of(self, types: Sequence[str]) -> n.Expr:
        """Whether the event is of one of some types."""
        return any_of(KIND.equals(self.types.index(name) + 1) for name in types) if self.types and types else n.TRUE

    def is_guess(self, condition: n.Expr) -> bool:
        """Whether a condition asks for types only, of several: which one comes next, no processor can predict."""
        parts = condition.parts if isinstance(condition, n.AnyTrue) else (condition,)
        return len(self.types) > 1 and all(isinstance(part, n.Comparison) and part.left == KIND for part in parts)

    def kind(self) -> n.Expr:
        """The number of the event's type."""
        code = self.fact(EventFact.TYPE)[I]
        return self.fact(EventFact.TYPES)[code].to(INT64)

    def fence(
        self, types: Sequence[str], tests: Sequence[Test], translator: KernelTranslator | None = None
    ) -> tuple[n.Expr, n.Expr]:
        """Return what some tests ask of the event alone, and what of the run, whose registers the translator reads.

        A condition on one event that has no code is computed beforehand. If that fails, the error is raised where
        the run asks, since another condition may have kept the event from it.
        """
        of_event: list[n.Expr] = [self.is_of(types)]
        of_run: list[n.Expr] = []
        for test in tests:
            try:
                (of_event if test.unary else of_run).append((translator or self.translator).holds(test.condition))
            except NotNative:
                if not test.unary:
                    raise
                of_run.append(self.mask(Mask(test.original, test.variable)))
        return all_of(of_event), all_of(of_run)

    def mask(self, mask: Mask) -> n.Expr:
        """Whether a condition that was computed beforehand holds."""
        if mask not in self.masks:
            self.masks.append(mask)
        array = n.Array(f"test_{self.masks.index(mask)}", MASK)
        self.arrays[EventArray(array, mask)] = None
        failed = n.Invoke("fail", (CELLS, I), BOOL)
        return any_of([array[I].equals(1), all_of([array[I].equals(2), failed])])
