"""What is known of a query on its events: values that can be added up, part by part of a stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Self

from cepheid.engine.matches.in_words import said_matches
from cepheid.values.json import Json


@dataclass(frozen=True, slots=True)
class EventFacts:
    """The events. `median_gap`, of one to the next in its partition, is in nanoseconds; None: there are no two.

    span: the times of the first and the last one in nanoseconds, which order what `first` and `last` say as text.
    """

    events: int
    types: Mapping[str, int]
    first: str | None
    last: str | None
    median_gap: int | None
    partitions: int
    span: tuple[int, int] | None = None

    def __add__(self, other: EventFacts) -> EventFacts:
        gaps = [(facts.median_gap, facts.events) for facts in (self, other) if facts.median_gap is not None]
        gap = sum(g * n for g, n in gaps) // sum(n for _, n in gaps) if gaps else None  # of both it is only near
        types = _added(self.types, other.types)
        timed = [(facts, facts.span) for facts in (self, other) if facts.span is not None]
        first = min(timed, key=lambda facts: facts[1][0])[0].first if timed else None
        last = max(timed, key=lambda facts: facts[1][1])[0].last if timed else None
        span = (min(facts[0] for _, facts in timed), max(facts[1] for _, facts in timed)) if timed else None
        partitions = self.partitions + other.partitions
        return EventFacts(self.events + other.events, types, first, last, gap, partitions, span)


@dataclass(frozen=True, slots=True)
class Tested:
    """A condition, and how often it was tested and TRUE."""

    text: str
    tested: int
    passed: int

    @property
    def selectivity(self) -> float | None:
        """The part that passed; None if it was never tested."""
        return self.passed / self.tested if self.tested else None


COMPLETE = "complete"
"""The last stage: the runs that got over all components."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A component of a pattern, or what comes after all of them.

    runs: how many came so far. tests: its conditions, in the order in which they are tested. ended: what became of the
    runs that came no further.
    """

    query: str
    component: str
    types: tuple[str, ...]
    runs: int
    tests: tuple[Tested, ...]
    ended: Mapping[str, int]

    def __add__(self, other: Stage) -> Stage:
        tests = {test.text: test for test in self.tests}
        for test in other.tests:
            known = tests.get(test.text, Tested(test.text, 0, 0))
            tests[test.text] = Tested(test.text, known.tested + test.tested, known.passed + test.passed)
        ended = _added(self.ended, other.ended)
        return replace(self, runs=self.runs + other.runs, tests=tuple(tests.values()), ended=ended)


@dataclass(frozen=True, slots=True)
class Hint:
    """What is likely wrong, and what to do."""

    code: str
    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.code}: {self.message}; {self.remedy}"


@dataclass(frozen=True, slots=True)
class Miss:
    """A run that came far: the events that it had, and why it went no further.

    rank: the greatest is the nearest. events: each as (component, row of the table, what it says).
    """

    query: str
    rank: tuple[float, ...]
    events: tuple[tuple[str, int, str], ...]
    reason: str
    refused: tuple[str, int, str] | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A change to the query, and how many matches it would then have.

    kind: what is changed: an order, a window, a strategy, a number of events, a condition, a negation, HAVING or a key.
    exact: otherwise there are more matches, which were not counted.
    """

    text: str
    matches: int
    kind: str = "condition"
    exact: bool = True

    def __str__(self) -> str:
        return said_matches(self.matches, exact=self.exact)


@dataclass(frozen=True, slots=True)
class Findings:
    """What a query does on some events, and what is likely wrong with it.

    funnel: the components with their conditions and runs. misses: the runs that came furthest. changes: what a single
    change to a query without matches would lead to. begun, followed: how many runs began, and how many were looked at.
    sampled, tried: how many events runs were followed on, and changes tried on. exact: else there are more matches,
    which would have taken long to count.
    """

    seen: EventFacts
    matches: int
    funnel: tuple[Stage, ...]
    hints: tuple[Hint, ...]
    misses: tuple[Miss, ...]
    changes: tuple[Change, ...]
    begun: int
    followed: int
    sampled: int
    tried: int
    exact: bool = True

    def __add__(self, other: Self) -> Self:
        stages = {(stage.query, stage.component): stage for stage in self.funnel}
        for stage in other.funnel:
            key = (stage.query, stage.component)
            stages[key] = stages[key] + stage if key in stages else stage
        return type(self)(
            self.seen + other.seen,
            self.matches + other.matches,
            tuple(stages.values()),
            tuple({hint.code + hint.message: hint for hint in (*self.hints, *other.hints)}.values()),
            nearest_of([*self.misses, *other.misses], max(len(self.misses), len(other.misses))),
            _added_changes(self.changes, other.changes),
            self.begun + other.begun,
            self.followed + other.followed,
            self.sampled + other.sampled,
            self.tried + other.tried,
            self.exact and other.exact,
        )

    def to_dict(self) -> Json:
        """All of it, as JSON has it."""
        json = asdict(self)
        del json["seen"]["span"]
        for stage in json["funnel"]:
            for test in stage["tests"]:
                test["selectivity"] = test["passed"] / test["tested"] if test["tested"] else None
        names = ("component", "row", "event")
        for miss in json["misses"]:
            miss["events"] = [dict(zip(names, event, strict=True)) for event in miss["events"]]
            miss["refused"] = miss["refused"] and dict(zip(names, miss["refused"], strict=True))
            del miss["rank"]
        return json


def nearest_of(misses: Iterable[Miss], most: int) -> tuple[Miss, ...]:
    """The nearest misses; of equal ones those that come first in the table."""

    def order(miss: Miss) -> tuple[object, ...]:
        return tuple(-part for part in miss.rank), [row for _, row, _ in miss.events], miss.refused or ()

    return tuple(sorted(misses, key=order)[:most])


def _added(counts: Mapping[str, int], others: Mapping[str, int]) -> dict[str, int]:
    return {key: counts.get(key, 0) + others.get(key, 0) for key in (*counts, *(k for k in others if k not in counts))}


def _added_changes(changes: Sequence[Change], others: Sequence[Change]) -> tuple[Change, ...]:
    by_text: dict[str, Change] = {}
    for change in (*changes, *others):
        known = by_text.get(change.text)
        by_text[change.text] = change if known is None else replace(known, matches=known.matches + change.matches)
    return tuple(by_text.values())
