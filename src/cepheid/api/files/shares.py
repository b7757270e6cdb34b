"""How much of the files has been read, for whoever wants to know."""

from __future__ import annotations

from collections.abc import Callable

OnShare = Callable[[float], None]
"""Called with the share that has been read, from 0 to 1."""


def nobody(share: float) -> None:
    """Ignore the share: the default of readers that nobody watches."""


def part(report: OnShare, low: float, high: float) -> OnShare:
    """Report the shares of a part as shares of the whole, of which the part is from `low` to `high`."""
    return lambda share: report(low + (high - low) * share)


def parts(report: OnShare, sizes: list[int]) -> list[OnShare]:
    """Report the shares of parts, read one after the other, as shares of the whole.

    >>> shares = []
    >>> first, second = parts(shares.append, [30, 10])
    >>> first(0.5), second(1.0), shares
    (None, None, [0.375, 1.0])
    """
    whole = max(1, sum(sizes))
    return [part(report, sum(sizes[:at]) / whole, sum(sizes[: at + 1]) / whole) for at in range(len(sizes))]
