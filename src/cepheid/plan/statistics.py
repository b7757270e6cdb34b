"""What is known of a stream when a plan is chosen."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Statistics:
    """Estimates from a sample.

    shares: of each stack, which part of the events it stores. selectivity: of each joint, how often it holds.
    window: how many events there are in a window; keys: how many values each equivalence attribute has.
    varies: whether different components are the rare one in different parts of the sample.
    """

    events: int
    window: float
    shares: tuple[float, ...]
    selectivity: tuple[float, ...]
    keys: dict[str, float]
    varies: bool = False


def moved(before: tuple[float, ...], rates: tuple[float, ...], factor: float) -> bool:
    """Whether shares are others by now."""
    least = 1 / 256  # what is rarer can't be told apart by the few events that are looked at
    return any(max(a, b, least) > factor * max(min(a, b), least) for a, b in zip(before, rates, strict=True))
