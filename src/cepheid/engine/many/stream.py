"""One stream of events and the tiers that run rules on it: events in, matches with the numbers of their rules out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cepheid.engine.many.lifetimes import ALWAYS, NEVER, Lifetimes
from cepheid.engine.many.protocol import RuleMatches, Tier
from cepheid.engine.many.rules import Rules, RuleSet, Template
from cepheid.engine.progress import Report
from cepheid.engine.stream.input_stream import FEW_ROWS, InputStream
from cepheid.engine.stream.parts import PartSource, Sink
from cepheid.engine.stream.pipeline import PlansFactory
from cepheid.engine.stream.rows import Arrival
from cepheid.engine.stream.snapshot import read_stream, write_stream
from cepheid.pattern.tree.flow import EVENTS
from cepheid.values.json import Json

NO_TIER = -1


@dataclass(frozen=True, slots=True)
class TierCount:
    """How many rules of a template a tier has, by its name; why: what keeps them out of the shared tables."""

    tier: str
    template: int
    rules: int
    why: str = ""


class Planner(Protocol):
    """Says which tier runs which rules."""

    reasons: dict[str, str]
    """By the name of a tier: why its rules are not in the shared tables."""

    def split(self, template: Template, rules: Rules) -> Iterator[tuple[str, Tier, Rules, object]]:
        """The rules of a template by the tier that runs them, by its name, and what it must know of them."""

    def anew(
        self, stream: InputStream, factory: PlansFactory, *, once: bool
    ) -> tuple[Planner, Mapping[int, Tier]] | None:
        """The same for another stream, with its tiers by the `id` of these; None: it can't be done."""


class ManyStream:
    """The events are put in order once, for all rules; nothing is done here for each rule and batch."""

    def __init__(self, stream: InputStream, planner: Planner, *, report: Report | None = None) -> None:
        self.stream = stream
        self._planner = planner
        self._report = report
        self._tiers: dict[str, Tier] = {}
        self._names: list[str] = []  # of the tiers, by their numbers
        self._tier_of = np.zeros(0, np.int32)  # the number of the tier, by the number of a rule
        self._added: list[tuple[int, np.ndarray]] = []  # the templates and the numbers of rules that came together
        self._enough_rows = FEW_ROWS

    def anew(
        self, stream: InputStream, factory: PlansFactory, *, once: bool, report: Report | None = None
    ) -> ManyStream | None:
        """The same rules, before any event, on another stream; once: none will come or go. None: it can't be done."""
        made = self._planner.anew(stream, factory, once=once)
        if made is None:
            return None
        planner, tiers = made
        stream_ = ManyStream(stream, planner, report=report)
        stream_._tiers = {name: tiers[id(tier)] for name, tier in self._tiers.items()}
        stream_._names, stream_._added = list(self._names), list(self._added)
        stream_._tier_of = self._tier_of if once else self._tier_of.copy()
        return stream_

    def settle_rules(self) -> None:
        """Put the rules so far where events find them, which is otherwise done before the next event."""
        for tier in self._tiers.values():
            tier.settle_rules()

    @property
    def tiers(self) -> Mapping[str, Tier]:
        """The tiers that run the rules, by name."""
        return self._tiers

    def places(self) -> Iterator[TierCount]:
        """Where the rules are that were added, template by template."""
        counts: dict[tuple[str, int], int] = {}
        for template, numbers in self._added:
            for tier, count in zip(*np.unique(self._tier_of[numbers], return_counts=True), strict=True):
                place = self._names[tier], template
                counts[place] = counts.get(place, 0) + int(count)
        for (name, template), count in counts.items():
            yield TierCount(name, template, count, self._planner.reasons.get(name, ""))

    def add(self, templates: Sequence[Template], rules: Sequence[Rules], at: int | None) -> None:
        """Rules that see the events after a time; None: all."""
        for some in rules:
            for tier, members, kind in self._placed(templates[some.template], some):
                tier.add(members.numbers, members.constants, at, kind)

    def _placed(self, template: Template, rules: Rules) -> Iterator[tuple[Tier, Rules, object]]:
        """Rules by the tier that runs them, with what it must know of them."""
        self._added.append((rules.template, rules.numbers))
        for name, tier, members, kind in self._planner.split(template, rules):
            if name not in self._tiers:
                self._names.append(name)
                self._tiers[name] = tier
            self._note(members.numbers, self._names.index(name))
            yield tier, members, kind

    def _note(self, numbers: np.ndarray, tier: int) -> None:
        missing = int(numbers.max(initial=-1)) + 1 - len(self._tier_of)
        if missing > 0:
            self._tier_of = np.append(self._tier_of, np.full(missing, NO_TIER, np.int32))
        self._tier_of[numbers] = tier

    def remove(self, numbers: np.ndarray, at: int) -> None:
        """Rules that see no event after a time."""
        places = self._tier_of[numbers]
        for place in np.unique(places):
            self._tiers[self._names[place]].remove(numbers[places == place], at)

    def push(self, arrival: Arrival) -> None:
        """Events, which wait for their order."""
        self.stream.arrivals.add(arrival)

    def advance(self, watermark: int | None) -> list[RuleMatches]:
        """What became certain when all events before a time (None: all) are in."""
        batch = self.stream.release(watermark)
        matches: list[RuleMatches] = []
        for tier in self._tiers.values():
            if batch is not None:
                tier.feed(batch)
            matches += tier.settle(watermark, self.stream)
        if batch is not None and self._report is not None:
            self._report(len(batch))
        if watermark is not None and self.stream.rows >= self._enough_rows:
            self.compact(watermark)
        return matches

    def deadlines(self) -> Iterator[int]:
        """The times from which on there is something to do even if no event comes."""
        yield from (arrival.low + 1 for arrival in self.stream.arrivals.waiting)
        for tier in self._tiers.values():
            if (time := tier.deadline()) is not None:
                yield time

    def compact(self, watermark: int) -> None:
        """Drop the events that no match to come can need."""
        needed = [tier.compact(watermark) for tier in self._tiers.values()]
        self.stream.cut(min((first_id for first_id in needed if first_id is not None), default=self.stream.events))
        self._enough_rows = 2 * self.stream.rows + FEW_ROWS

    def counters(self) -> dict[str, int]:
        """What all tiers have done."""
        total: dict[str, int] = {}
        for tier in self._tiers.values():
            for name, count in tier.counters().items():
                total[name] = total.get(name, 0) + count
        return total

    def save(self, sink: Sink) -> Json:
        """The state: facts for a header; arrays and tables go into a sink."""
        dumped = {name: tier.dump() for name, tier in self._tiers.items()}
        tiers = {
            name: {"facts": facts, "arrays": [sink.array(f"{name}.{k}", array) for k, array in enumerate(arrays)]}
            for name, (facts, arrays) in dumped.items()
        }
        added = [[template, sink.array(f"added.{k}", numbers)] for k, (template, numbers) in enumerate(self._added)]
        return {"stream": write_stream("stream", EVENTS, self.stream, sink), "tiers": tiers, "added": added}

    def load(self, rules: RuleSet, lives: Lifetimes, watermark: int | None, header: Json, source: PartSource) -> None:
        """Restore a state: the rules that it has come together as they did, so that each is in the same tier."""
        read_stream(header["stream"], self.stream, source)
        reached = ALWAYS if watermark is None else watermark
        for template, numbers in header["added"]:
            for saved_rules in rules.of(template, source.array(numbers)):
                for tier, members, kind in self._placed(rules.templates[template], saved_rules):
                    alive = members.take(np.flatnonzero(lives.until[members.numbers] >= reached))
                    begun = np.where(lives.since[alive.numbers] < reached, ALWAYS, lives.since[alive.numbers])
                    for time in np.unique(begun):
                        at = None if time == ALWAYS else int(time)
                        some = alive.take(np.flatnonzero(begun == time))
                        tier.add(some.numbers, some.constants, at, kind)
        ending = np.flatnonzero((lives.until >= reached) & (lives.until < NEVER))
        ending = ending[ending < len(self._tier_of)]
        ending = ending[self._tier_of[ending] != NO_TIER]
        for time in np.unique(lives.until[ending]):
            self.remove(ending[lives.until[ending] == time], int(time))
        self._load_tiers(header, source)

    @property
    def reloads(self) -> bool:
        """Whether `reload` can be called."""
        return all(tier.reloads for tier in self._tiers.values())

    def reload(self, header: Json, source: PartSource) -> None:
        """Take up another state of the same rules, in place of this one: what finds the rules is not made anew."""
        read_stream(header["stream"], self.stream, source)
        self._load_tiers(header, source)

    def _load_tiers(self, header: Json, source: PartSource) -> None:
        for name, saved in header["tiers"].items():
            if name in self._tiers:
                arrays = [source.array(reference) for reference in saved["arrays"]]
                self._tiers[name].load(saved["facts"], arrays, self.stream)
