"""The queries of Cayuga's technical benchmark (TR, section 5.1, Table 2), in three readings of what it leaves open.

A query has three steps. Each asks for two values of the discrete attributes d0 to d3, one of which, the primary one, is
the same in all steps, and for two of 25 ranges of the continuous attributes c0 to c3.

    plain  the two discrete attributes of a step differ, and so do the two continuous ones
    loose  attributes are chosen independently, and may be the same: then a step has one equality, or can't be passed
    close  nearest to the paper's numbers of nodes: a query has one secondary value, which also picks its ranges
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

READINGS = ("plain", "loose", "close")
TEMPLATES = ("LinearStat", "LinearDyn", "Filter", "NonDet", "NonDetAgg")
STEPS, ATTRIBUTES, RANGES, DURATION = 3, 4, 25, 20


@dataclass(frozen=True)
class Workload:
    """The constants of queries, a row each."""

    primary: Any  # the attribute, and its value
    value: Any
    others: Any  # by step: the other attribute, and its value
    other_values: Any
    columns: Any  # by step: two continuous attributes, and the range of each
    ranges: Any
    selectivity: float = 0.7

    def __len__(self) -> int:
        return len(self.primary)

    def beside(self, more: Workload) -> Workload:
        """These queries, and more."""
        arrays = [field.name for field in fields(self) if field.name != "selectivity"]
        joined = {name: np.concatenate([getattr(self, name), getattr(more, name)]) for name in arrays}
        return replace(self, **joined)

    def moved(self, by: int) -> Workload:
        """The same with values that are greater by a number."""
        return replace(self, value=self.value + by, other_values=self.other_values + by)

    def limits(self) -> tuple[Any, Any]:
        """The lower and the upper ends of the ranges."""
        lows = np.arange(RANGES) / RANGES * (1 - self.selectivity)
        return np.round(lows, 4), np.round(lows + self.selectivity, 4)

    def steps(self) -> Iterator[tuple[str, list[list[str]]]]:
        """Of each query its primary condition, and the conditions of its steps, all without the name of an event."""
        written = [(f"{low:.4f}", f"{high:.4f}") for low, high in zip(*self.limits(), strict=True)]
        arrays = self.primary, self.value, self.others, self.other_values, self.columns, self.ranges
        for primary, value, others, values, columns, ranges in zip(*(a.tolist() for a in arrays), strict=True):
            first = f"d{primary} = {value}"
            steps = []
            for step in range(STEPS):
                asks = [first, f"d{others[step]} = {values[step]}"]
                for column, number in sorted(zip(columns[step], ranges[step], strict=True)):
                    low, high = written[number]
                    asks += [f"c{column} >= {low}", f"c{column} < {high}"]
                steps.append(asks)
            yield first, steps


def workload(
    count: int,
    reading: str,
    *,
    skew: float = 1.0,
    selectivity: float = 0.7,
    domain: int = 100,
    seed: int = 1,
) -> Workload:
    """So many queries. skew: zipf1 of the paper, by which attributes and the values of the first step are chosen."""
    rng = np.random.default_rng(seed)
    skews = skew, 1.0, 0.8

    def drawn(size: int, choices: int, exponent: float) -> Any:
        weights = 1 / np.arange(1, choices + 1) ** exponent
        return rng.choice(choices, size, p=weights / weights.sum())

    def attributes(unlike: Any = None) -> Any:
        found = drawn(count, ATTRIBUTES, skew)
        while unlike is not None and (same := found == unlike).any():
            found[same] = drawn(int(same.sum()), ATTRIBUTES, skew)
        return found

    primary, value, secondary = attributes(), drawn(count, domain, skew), drawn(count, domain, skew)
    others, values, columns, ranges = [], [], [], []
    pairs = np.array([(j, k) for j in range(ATTRIBUTES) for k in range(j + 1, ATTRIBUTES)])
    for exponent in skews:
        others.append(attributes(None if reading == "loose" else primary))
        if reading == "close":
            values.append(secondary)
            columns.append(pairs[drawn(count, len(pairs), skew)])
            ranges.append(np.stack([secondary % RANGES] * 2, axis=1))
            continue
        values.append(drawn(count, domain, exponent))
        one = attributes()
        columns.append(np.stack([one, attributes(one if reading == "plain" else None)], axis=1))
        ranges.append(np.stack([drawn(count, RANGES, exponent) for _ in range(2)], axis=1))
    by_step = (np.stack(some, axis=1) for some in (others, values, columns, ranges))
    return Workload(primary, value, *by_step, selectivity)
