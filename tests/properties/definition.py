"""What a sequence means, by trying every choice of events: the semantics page written out a second time.

Here a match is not found by runs. Every choice of events for the components is tried, and kept where it has the
right types, order, conditions, window, and between its events nothing that its strategy may not ignore.
"""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

COLUMNS = ("ts", "type", "k", "x", "y")
Row = Mapping[str, Any]
Bindings = Mapping[str, Sequence[Row]]
STRATEGIES = ("strict_contiguity", "partition_contiguity", "skip_till_next_match", "skip_till_any_match")
COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
AGGREGATES: Mapping[str, Callable[[Sequence[int]], Any]] = {
    "sum": lambda found: (sum(found) + 2**63) % 2**64 - 2**63 if found else None,  # S3a: integers wrap
    "max": lambda found: max(found, default=None),
    "min": lambda found: min(found, default=None),
    "count": len,
    "avg": lambda found: sum(map(float, found)) / len(found) if found else None,
}


@dataclass(frozen=True)
class Part:
    """A component: `A a`, `!(A a)`, `A+ a[]`, `A{1,2} a[]`."""

    variable: str
    types: tuple[str, ...]
    low: int = 1
    high: int = 1
    array: bool = False
    negated: bool = False

    @property
    def text(self) -> str:
        types = self.types[0] if len(self.types) == 1 else f"ANY({', '.join(self.types)})"
        if self.array:
            times = {(1, 99): "+", (2, 99): "{2,}"}.get((self.low, self.high), f"{{{self.low},{self.high}}}")
            return f"{types}{times} {self.variable}[]"
        return f"!({types} {self.variable})" if self.negated else f"{types} {self.variable}"


@dataclass(frozen=True)
class Term:
    """A side of a comparison. `form`: how it mentions its variable; its value, given the events bound so far."""

    text: str
    value: Callable[[Bindings], Any]
    variable: str = ""
    form: str = "constant"  # one, first, whole, each (i ≥ 1), later (i ≥ 2)


@dataclass(frozen=True)
class Condition:
    """A conjunct."""

    left: Term
    comparison: str
    right: Term

    @property
    def text(self) -> str:
        return f"{self.left.text} {self.comparison} {self.right.text}"

    @property
    def variables(self) -> set[str]:
        return {self.left.variable, self.right.variable} - {""}

    def forms(self, variable: str) -> set[str]:
        return {term.form for term in (self.left, self.right) if term.variable == variable}

    def test(self, bindings: Bindings) -> bool:
        """S3: what is not TRUE does not hold; with an attribute that the type of the event lacks it is TRUE."""
        try:
            left, right = self.left.value(bindings), self.right.value(bindings)
        except KeyError:
            return True
        if isinstance(left, float) and right is not None:
            right = float(right)
        if isinstance(right, float) and left is not None:
            left = float(left)
        return left is not None and right is not None and COMPARISONS[self.comparison](left, right)

    def holds(self, bindings: Bindings) -> bool:
        """On all that is bound; a condition on each event holds on each."""
        for variable in self.variables:
            for least, form in ((2, "later"), (1, "each")):
                if form in self.forms(variable):
                    events = bindings[variable]
                    turns = [{**bindings, variable: events[:i]} for i in range(least, len(events) + 1)]
                    return all(map(self.test, turns))
        return self.test(bindings)


@dataclass(frozen=True)
class Definition:
    """A query, and what it means."""

    parts: tuple[Part, ...]
    strategy: str
    conditions: tuple[Condition, ...] = ()
    same: bool = False  # [k]
    partition: bool = False  # PARTITION BY k
    within: tuple[int, str] | None = None
    having: Condition | None = None
    output: str = "ALL"
    cooldown: int | None = None
    simultaneous: bool = False  # with skip_till_any_match: of the others the page does not say
    order_by: tuple[str, ...] = ()
    types: Mapping[str, Sequence[str]] | None = None

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(f"{self.text}\norder_by={self.order_by} types={self.types}")

    @property
    def text(self) -> str:
        conditions = [*(c.text for c in self.conditions), *(["[k]"] if self.same else [])]
        lines = [
            f"PATTERN SEQ({', '.join(p.text for p in self.parts)})",
            f"WHERE {self.strategy} {{ {' AND '.join(conditions)} }}",
            "PARTITION BY k" if self.partition else "",
            f"WITHIN {self.within[0]} {self.within[1]}" if self.within else "",
            f"HAVING {self.having.text}" if self.having else "",
            f"OUTPUT {self.output}" + (f" COOLDOWN {self.cooldown} ms" if self.cooldown is not None else ""),
            "TIES SIMULTANEOUS" if self.simultaneous else "",
        ]
        return "\n".join(line for line in lines if line)

    @property
    def positive(self) -> tuple[Part, ...]:
        return tuple(p for p in self.parts if not p.negated)

    def matches(self, rows: Sequence[Row]) -> list[Bindings]:
        """All matches in the order of S9."""
        found = []
        for key in {row["k"] for row in rows} if self.partition else {None}:
            mine = [row for row in ordered(rows, self.order_by) if not self.partition or row["k"] == key]
            stream = [self.declared(row) for row in mine]
            found += [b for b in self.choices(stream) if self.is_match(b, stream)]
        found.sort(key=self.rank)
        if self.output == "LONGEST":
            return sorted(self.longest(found), key=self.rank)
        return list(self.apart(found)) if self.output == "NON_OVERLAP" else found

    def rank(self, bindings: Bindings) -> tuple[int, int, list[int]]:
        """S9: the order of matches."""
        events = chosen(bindings)
        return self.at(events[-1]), self.at(events[0]), [e["place"] for e in events]

    def declared(self, row: Row) -> Row:
        """An event with the attributes that its type has (S3)."""
        if self.types is None or row["type"] is None:
            return row
        return {name: row[name] for name in ("ts", "type", "place", *self.types[row["type"]])}

    def at(self, event: Row) -> int:
        """S1, S2: the place in the order, or the time where equal times are simultaneous."""
        return int(event["ts"] if self.simultaneous else event["place"])

    def choices(self, stream: Sequence[Row]) -> Iterator[Bindings]:
        """Every way to cut every subset of the events into the components."""
        least = sum(p.low for p in self.positive)
        for size in range(least, len(stream) + 1):
            for events in combinations(stream, size):
                for cuts in combinations(range(1, size), len(self.positive) - 1):
                    ends = (0, *cuts, size)
                    bindings = {
                        part.variable: events[begin:end]
                        for part, (begin, end) in zip(self.positive, pairwise(ends), strict=True)
                    }
                    if all(p.low <= len(bindings[p.variable]) <= p.high for p in self.positive):
                        yield bindings

    def is_match(self, bindings: Bindings, stream: Sequence[Row]) -> bool:
        events = chosen(bindings)
        return (
            all(e["type"] in p.types for p in self.positive for e in bindings[p.variable])
            and all(self.agrees(events[:k], e) for k, e in enumerate(events))
            and all(self.at(one) < self.at(next_one) for one, next_one in pairwise(events))
            and self.inside(events[0], events[-1], stream)
            and all(c.holds(bindings) for c in self.conditions if not c.variables & self.absent)
            and all(self.ignores(bindings, k, stream) for k in range(1, len(events)))
            and not any(self.is_dropped(k, bindings, stream) for k, p in enumerate(self.parts) if p.negated)
            and (self.having is None or self.having.holds(bindings))
        )

    @property
    def absent(self) -> set[str]:
        return {p.variable for p in self.parts if p.negated}

    def agrees(self, others: Sequence[Row], event: Row) -> bool:
        """S3: with the first event that has the attribute; a NULL never equals anything in [attr]."""
        if not self.same or "k" not in event:
            return True
        return event["k"] is not None and event["k"] == next((e["k"] for e in others if "k" in e), event["k"])

    def inside(self, first: Row, last: Row, stream: Sequence[Row]) -> bool:
        """S8: strict; events are counted in the partition, or in the whole input under strict contiguity."""
        if self.within is None:
            return True
        amount, unit = self.within
        if unit == "ms":
            return bool(last["ts"] - first["ts"] < amount)
        after = [e for e in stream if first["place"] < e["place"] <= last["place"]]
        counted = after if self.strategy == "strict_contiguity" else [e for e in after if self.agrees([first], e)]
        return len(counted) < amount

    def ignores(self, bindings: Bindings, k: int, stream: Sequence[Row]) -> bool:
        """S6: whether the events between the k-th chosen one and the one before may be ignored."""
        events = chosen(bindings)
        between = [e for e in stream if events[k - 1]["place"] < e["place"] < events[k]["place"]]
        if self.strategy == "strict_contiguity":
            return not between
        if self.strategy == "partition_contiguity":
            return not any(self.agrees(events[:k], e) for e in between)
        if self.strategy == "skip_till_next_match":
            return not any(self.is_awaited(bindings, k, e, stream) for e in between)
        return True

    def is_awaited(self, bindings: Bindings, k: int, event: Row, stream: Sequence[Row]) -> bool:
        """Whether an event satisfies the take (or begin) condition of the state after k chosen events."""
        so_far: dict[str, list[Row]] = {}
        for part in self.positive:
            taken = bindings[part.variable][: max(0, k - sum(map(len, so_far.values())))]
            if taken:
                so_far[part.variable] = list(taken)
        state = self.positive[len(so_far) - 1]
        # A repetition that is full takes no more, as a single event.
        target = state if len(so_far[state.variable]) < state.high else self.positive[len(so_far)]
        first = chosen(so_far)[0]
        with_event = {**so_far, target.variable: [*so_far.get(target.variable, []), event]}
        return (
            event["type"] in target.types
            and self.agrees(chosen(so_far), event)
            and self.inside(first, event, stream)
            and all(c.test(with_event) for c in self.conditions if self.is_tested(c, target, with_event))
        )

    def is_tested(self, condition: Condition, part: Part, bindings: Bindings) -> bool:
        """S5: on begin and take, what has its last identifier there."""
        if condition.variables & self.absent or part.variable not in condition.variables:
            return False
        if not condition.variables <= bindings.keys() or "whole" in condition.forms(part.variable):
            return False
        turn, forms = len(bindings[part.variable]), condition.forms(part.variable)
        if "later" in forms:
            return turn > 1
        return turn == 1 or "each" in forms

    def is_dropped(self, at: int, bindings: Bindings, stream: Sequence[Row]) -> bool:
        """S10: whether there is a witness of the negated part."""
        part, events = self.parts[at], chosen(bindings)
        before = [e for p in self.parts[:at] if not p.negated for e in bindings[p.variable]]
        after = [e for p in self.parts[at:] if not p.negated for e in bindings[p.variable]]
        for event in stream:
            if event["type"] not in part.types or not self.agrees(events, event):
                continue
            if before and self.at(event) <= self.at(before[-1]):
                continue
            if after and self.at(event) >= self.at(after[0]):
                continue
            if not before and not self.inside(event, events[-1], stream):
                continue
            if not after and not self.inside(events[0], event, stream):
                continue
            witness = {**bindings, part.variable: [event]}
            if all(c.test(witness) for c in self.conditions if part.variable in c.variables):
                return True
        return False

    def apart(self, found: Sequence[Bindings]) -> Iterator[Bindings]:
        """S12: earliest end first; what started at or before the end of a match of its partition is dropped."""
        busy: dict[Any, Row] = {}
        for bindings in found:
            key = self.key(bindings)
            if self.may_follow(busy.get(key), bindings):
                busy[key] = chosen(bindings)[-1]
                yield bindings

    def longest(self, found: Sequence[Bindings]) -> Iterator[Bindings]:
        """S24: again and again, of those after the last one: the earliest start, the latest end, the least places."""
        for key in {self.key(bindings) for bindings in found}:
            last: Row | None = None
            while left := [b for b in found if self.key(b) == key and self.may_follow(last, b)]:
                first = min(self.at(chosen(b)[0]) for b in left)
                left = [b for b in left if self.at(chosen(b)[0]) == first]
                end = max(self.at(chosen(b)[-1]) for b in left)
                best = next(b for b in left if self.at(chosen(b)[-1]) == end)
                yield best
                last = chosen(best)[-1]

    def may_follow(self, last: Row | None, bindings: Bindings) -> bool:
        """Whether a match starts after the end of the one before, and when its cooldown is over."""
        first = chosen(bindings)[0]
        if last is None:
            return True
        return self.at(first) > self.at(last) and bool(first["ts"] >= last["ts"] + (self.cooldown or 0))

    def key(self, bindings: Bindings) -> Any:
        """The partition of a match."""
        keys = [e["k"] for e in chosen(bindings) if "k" in e]
        return keys[0] if keys and (self.partition or self.same) else None


def chosen(bindings: Bindings) -> list[Row]:
    return [event for events in bindings.values() for event in events]


def ordered(rows: Sequence[Row], order_by: Sequence[str]) -> list[Row]:
    """S1: by time, order_by, then all columns; NULL comes first."""

    def rank(row: Row) -> list[tuple[Any, ...]]:
        names = ("ts", *order_by, *COLUMNS)
        return [(0,) if row[name] is None else (1, row[name]) for name in names]

    return [{**row, "place": place} for place, row in enumerate(sorted(rows, key=rank))]
