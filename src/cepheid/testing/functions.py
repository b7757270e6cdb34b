"""User functions that case files can name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import sqrt

from cepheid.api import Aggregate


def corr(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Pearson's correlation of two lists; None if it is not defined.

    >>> corr([1, 2, 3], [2, 4, 6])
    1.0
    """
    n = len(xs)
    if n != len(ys) or n < 2:
        return None
    mean_x, mean_y = sum(xs) / n, sum(ys) / n
    dx, dy = [x - mean_x for x in xs], [y - mean_y for y in ys]
    spread = sqrt(sum(d * d for d in dx) * sum(d * d for d in dy))
    return sum(a * b for a, b in zip(dx, dy, strict=True)) / spread if spread else None


def double(x: float) -> float:
    """A function of a user's, for cases that call one."""
    return 2 * x


def fails(*arguments: object) -> object:
    """A function that always raises."""
    raise ValueError("it fails always")


FUNCTIONS: Mapping[str, Callable[..., object]] = {
    "Corr": corr,
    "double": double,
    "fails": fails,
    "product": Aggregate(start=1, step=lambda state, value: state * value, returns=int),
    "breaks": Aggregate(start=list, step=fails),
}
