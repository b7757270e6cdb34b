"""The registers of a scan: how each is kept, read and assigned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from cepheid.automaton.model import Held, Register, RegisterAutomaton
from cepheid.kernel.arguments import Extent, StateArray
from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.build import Code
from cepheid.kernel.code.types import UINT8, Scalar
from cepheid.kernel.expressions import KernelSort, KernelTranslator, Leaf, Value, as_sort, sort_of
from cepheid.kernel.scan.variables import MATCH_COUNT
from cepheid.pattern.expressions import nodes as ex

Read = Callable[[str, Scalar], n.Expr]
"""The code of a field, by its name."""


@dataclass(frozen=True, slots=True)
class KeptRegister:
    """How a register is kept: a value and, where it can be NULL, a flag."""

    register: Register
    sort: KernelSort
    nullable: bool

    @property
    def fields(self) -> tuple[tuple[str, Scalar], ...]:
        """The names and types of what is stored."""
        value = (self.register.name, self.sort.scalar)
        return (value, (f"null_{self.register.name}", UINT8)) if self.nullable else (value,)

    def read(self, read: Read) -> Value:
        """Its value where it is stored."""
        (name, scalar), *flag = self.fields
        null = read(*flag[0]).differs(0) if flag else n.FALSE
        return Value(read(name, scalar), self.sort, null)

    def parts(self, value: Value) -> Iterator[n.Expr]:
        """A value as the fields have it."""
        yield as_sort(value, self.sort)
        if self.nullable:
            yield value.null.to(UINT8)


class ScanRegisters:
    """The registers of an automaton on events of which some columns have NULLs."""

    def __init__(self, automaton: RegisterAutomaton, events: Leaf, translator: KernelTranslator) -> None:
        self.events = events
        self.constants = translator.constants
        self.kept: Mapping[Register, KeptRegister] = {
            r: KeptRegister(r, sort_of(r.type), nullable=False) for r in automaton.registers
        }
        while True:  # until no register turns out to be NULL that was not
            nullable = set(self._nullable(automaton))
            if not nullable:
                return
            self.kept = {r: KeptRegister(r, k.sort, k.nullable or r in nullable) for r, k in self.kept.items()}

    def _nullable(self, automaton: RegisterAutomaton) -> Iterator[Register]:
        translator = self.translator(lambda name, scalar: n.Local(name, scalar))
        results = (exit_.gives for exit_ in automaton.exits)
        for transfer in (*(arc.transfer for arc in automaton.arcs), *results):
            for register, expression in transfer.items():
                if not self.kept[register].nullable and translator.value(expression).null != n.FALSE:
                    yield register

    def translator(self, read: Read | None) -> KernelTranslator:
        """Translates what reads events, and registers where these are stored."""

        def leaf(node: ex.Expression) -> Value | None:
            if isinstance(node, Held):
                assert read is not None  # before the first event there are no registers
                return self.kept[node.register].read(read)
            return self.events(node)

        return KernelTranslator(leaf, self.constants)

    def fields(self, registers: Iterable[Register]) -> Iterator[tuple[str, Scalar, bool]]:
        """What is stored of some registers, and whether it is the code of a string."""
        for register in registers:
            kept = self.kept[register]
            for k, (name, scalar) in enumerate(kept.fields):
                yield name, scalar, kept.sort is KernelSort.STRING and k == 0

    def given(self, automaton: RegisterAutomaton) -> Iterator[StateArray]:
        """The arrays of what matches give of the register."""
        registers = dict.fromkeys(register for exit_ in automaton.exits for register in exit_.gives)
        for name, scalar, coded in self.fields(registers):
            yield StateArray(given_array(name, scalar), Extent.MATCHES, coded=coded)

    def write_given(self, code: Code, registers: Iterable[Register], read: Read) -> None:
        """What the match that is about to be written down gives of the register."""
        for name, scalar, _ in self.fields(registers):
            code.put(given_array(name, scalar), MATCH_COUNT, read(name, scalar))

    def assign(
        self, code: Code, registers: Iterable[Register], transfer: Mapping[Register, ex.Expression], read: Read | None
    ) -> None:
        """The new values of some registers, in variables: from the event at hand and from the old ones."""
        translator = self.translator(read)
        for register in registers:
            kept = self.kept[register]
            value = translator.value(transfer.get(register, Held(register)))
            for (name, scalar), part in zip(kept.fields, kept.parts(value), strict=True):
                code.set(new(name, scalar), part)


def given_array(name: str, scalar: Scalar) -> n.Array:
    """The array of what matches give of a register."""
    return n.Array(f"match_{name}", scalar)


def new(name: str, scalar: Scalar) -> n.Local:
    """The variable of a new value."""
    return n.Local(f"new_{name}", scalar)
