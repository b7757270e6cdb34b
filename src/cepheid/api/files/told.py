"""How much of the files has been read, for whoever wants to know."""

from __future__ import annotations

from collections.abc import Callable

Told = Callable[[float], None]
"""Called with the share that has been read, from 0 to 1."""


def nobody(share: float) -> None:
    """Tells nobody."""


def part(told: Told, low: float, high: float) -> Told:
    """Tells the shares of a part of the whole."""
    return lambda share: told(low + (high - low) * share)


def parts(told: Told, sizes: list[int]) -> list[Told]:
    """Tells the shares of parts that come one after the other.

    >>> shares = []
    >>> first, second = parts(shares.append, [30, 10])
    >>> first(0.5), second(1.0), shares
    (None, None, [0.375, 1.0])
    """
    whole = max(1, sum(sizes))
    return [part(told, sum(sizes[:at]) / whole, sum(sizes[: at + 1]) / whole) for at in range(len(sizes))]
