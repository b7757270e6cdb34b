"""What a scan keeps for each partition: an element of an array, or a variable if the stream has one partition."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.kernel.arguments import Extent, StateArray
from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.build import Code
from cepheid.kernel.code.types import UINT32, Scalar
from cepheid.kernel.scan.variables import PARTITION


class PartitionValues:
    """Values by name. A stream without partitions keeps them in variables while the loop runs."""

    def __init__(self, code: Code, *, partitions: bool) -> None:
        self.code = code
        self.partitions = partitions
        self._kept: dict[str, StateArray] = {}

    def declare(self, name: str, scalar: Scalar = UINT32, initial: int = 0, *, coded: bool = False) -> None:
        """A value is kept from one event to the next; `coded`: it is the code of a string."""
        self._kept[name] = StateArray(n.Array(name, scalar), Extent.PARTITIONS, initial, coded=coded)

    def state(self) -> Iterator[StateArray]:
        """The arrays."""
        yield from self._kept.values()

    def get(self, name: str) -> n.Expr:
        """The value of the partition at hand."""
        array = self._kept[name].array
        return array[PARTITION] if self.partitions else _local(array)

    def put(self, name: str, value: n.Expr | n.Number) -> None:
        """The value of the partition at hand changes."""
        array = self._kept[name].array
        if self.partitions:
            self.code.put(array, PARTITION, value)
        else:
            self.code.set(_local(array), value)

    def load(self) -> None:
        """Before the loop: from the arrays to the variables."""
        if not self.partitions:
            for kept in self._kept.values():
                self.code.set(_local(kept.array), kept.array[0])

    def store(self) -> None:
        """After the loop: from the variables to the arrays."""
        if not self.partitions:
            for kept in self._kept.values():
                self.code.put(kept.array, 0, _local(kept.array))


def _local(array: n.Array) -> n.Local:
    return n.Local(f"the_{array.name}", array.element)
