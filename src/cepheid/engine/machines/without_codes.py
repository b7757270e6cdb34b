"""What machines have in common that hold Python values: keys and strings as they are, and no numbers for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cepheid.pattern.tree.lanes import Lanes


class WithoutCodes:
    """Nothing is numbered, so that nothing is numbered anew."""

    def held_lanes(self) -> Iterable[tuple[Lanes, Any]]:
        """It has keys, and no numbers of lanes."""
        return ()

    def keep_lanes(self, lanes: Lanes, alive: Any) -> None:
        """It has keys, and no numbers of lanes."""

    def held_strings(self) -> Iterable[Any]:
        """It has strings, and no codes."""
        return ()

    def renumber_strings(self, number: Any) -> None:
        """It has strings, and no codes."""
