"""What machines have in common that hold Python values: keys and strings as they are, and no numbers for them."""

from __future__ import annotations

from collections.abc import Iterable

from cepheid.kernel.arrays import Array
from cepheid.pattern.tree.partitioning import Partitioning
from cepheid.plan.spec import PlanSpec


class WithoutCodes:
    """Nothing is numbered, so that nothing is numbered anew."""

    def change_plan(self, choice: PlanSpec) -> bool:
        """Runs are of no other plan."""
        return False

    def held_partitions(self) -> Iterable[tuple[Partitioning, Array]]:
        """It has keys, and no numbers of partitions."""
        return ()

    def keep_partitions(self, partitions: Partitioning, alive: Array) -> None:
        """It has keys, and no numbers of partitions."""

    def held_strings(self) -> Iterable[Array]:
        """It has strings, and no codes."""
        return ()

    def renumber_strings(self, number: Array) -> None:
        """It has strings, and no codes."""
