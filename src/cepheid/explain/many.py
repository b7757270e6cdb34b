"""Many queries explained: what their rules share, how an event finds those that it concerns, and what is not shared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cepheid.engine.many.rules import RuleSet
from cepheid.explain.explanation import Explanation
from cepheid.explain.table import table
from cepheid.language import print_expression
from cepheid.pattern.expressions.nodes import Literal
from cepheid.pattern.expressions.sampled import constant_column

if TYPE_CHECKING:  # machines and kernels take a while to import
    from cepheid.engine.many.routed.routed import RoutedTier
    from cepheid.engine.many.routed.routers import Route
    from cepheid.engine.many.stream import ManyStream, TierCount
    from cepheid.engine.many.tables.chain import Bounds, Chain, Fence, Key
    from cepheid.engine.many.tables.layout import NodeLookup, TablesLayout, WaitingNodes

MOST = 12
"""Lines of one kind that are shown; of more, how many there are."""
_NUMBERED = "$"
"""Parameters that begin so are constants that were cut out of texts."""


@dataclass(frozen=True, slots=True)
class RuleStreams:
    """Joined streams of a template: why its rules are there, how an event finds them, and how many they are."""

    template: int
    why: str
    routing: str
    rules: int = 0
    streams: int = 0


@dataclass(frozen=True, slots=True)
class Explained:
    """What there is to say: rules, how many are left out, and if the columns of the events are known, what runs them.

    layouts: of the shared tables. joined: the joined streams, those that are alike together. alone: rules on their own.
    """

    rules: RuleSet
    wrong: int = 0
    layouts: tuple[TablesLayout, ...] = ()
    joined: tuple[RuleStreams, ...] = ()
    alone: tuple[TierCount, ...] = ()

    def lines(self) -> Iterator[str]:
        """All of it as text."""
        rule_count, known = _count(len(self.rules), "rule"), _count(len(self.rules.templates), "template")
        left_out = f"; {_count(self.wrong, 'wrong rule')} left out" if self.wrong else ""
        yield f"{rule_count} of {known}{left_out}"
        rows = [*self._templates()]
        yield from _some(table(rows[:MOST]), len(rows))
        for layout in self.layouts:
            yield from self._shared(layout)
        if self.joined:
            yield f"Joined streams: {_count(sum(streams.rules for streams in self.joined), 'rule')}"
            yield from _some(
                [line for streams in self.joined[:MOST] for line in self._joined(streams)], len(self.joined)
            )
        if self.alone:
            yield f"Each on its own: {_count(sum(place.rules for place in self.alone), 'rule')}"
            reasons = ((self._name(p.template), _count(p.rules, "rule"), f"not shared: {p.why}") for p in self.alone)
            rows = [*reasons]
            yield from _some(table(rows[:MOST]), len(rows))

    def _name(self, template: int) -> str:
        name = self.rules.templates[template].name
        return "the template" if name is None else str(name)

    def _templates(self) -> Iterator[tuple[str, str, str]]:
        counts = [0] * len(self.rules.templates)
        for some in self.rules.rules:
            counts[some.template] += len(some)
        for number, template in enumerate(self.rules.templates):
            names = template.parameters
            if template.texts:
                difference = "differ in conditions"
            elif any(name.startswith(_NUMBERED) for name in names):
                difference = f"differ in {_count(len(names), 'constant')}"
            else:
                difference = f"parameters {', '.join(names)}" if names else "no parameters"
            yield self._name(number), _count(counts[number], "rule"), difference

    def _joined(self, joined: RuleStreams) -> Iterator[str]:
        several = f" in {joined.streams:,} streams" if joined.streams > 1 else ""
        yield f"  {self._name(joined.template)}: {_count(joined.rules, 'rule')}{several}"
        yield f"    not in the shared tables: {joined.why}"
        yield f"    {joined.routing}"

    def _shared(self, layout: TablesLayout) -> Iterator[str]:
        of_instants = any(chain.simultaneous for _, chain, _ in layout.chains)
        which = ", where events of one time do not follow each other" if of_instants else ""
        yield f"Shared tables{which}: {_count(layout.rules, 'rule')}"
        yield from _some([line for chain in layout.chains[:MOST] for line in self._steps(*chain)], len(layout.chains))
        yield "  Steps, and what is left when equal ones are merged"
        counts = list(zip(layout.steps, layout.depths, strict=False))
        rows = [(f"step {at}", f"{steps:,}", f"{nodes:,}") for at, (steps, nodes) in enumerate(counts, 1)]
        total = "all", f"{sum(layout.steps):,}", f"{sum(layout.depths):,}"
        yield from _deeper(table([*rows, total]))
        yield "  They are looked up by"
        yield from _deeper(table([*self._found(layout)]))
        if layout.waiting:
            yield "  Runs wait for"
            yield from _deeper(table([*self._waiting(layout.waiting)]))
        each = f", {round(layout.nbytes / layout.rules):,} for each rule" if layout.rules else ""
        yield f"  {_count(layout.levels, 'level')} of tables, {layout.nbytes:,} bytes{each}"

    def _steps(self, template: int, chain: Chain, count: int) -> Iterator[str]:
        yield f"  {self._name(template)}: {_count(count, 'rule')}"
        labels = chain.labels if len(chain.labels) == len(chain.steps) and not chain.valued else ()
        for at, step in enumerate(chain.steps):
            yield f"    {labels[at] if labels else f'step {at + 1}'}: {self._fence(step.fence)}"
            if step.wait is not None and step.wait.ending is not None:
                yield f"      the wait after it ends at: {self._fence(step.wait.ending)}"
            if chain.begins_each(at):
                yield "      it begins a run for each of them: what ends the wait is asked for their constants"

    def _fence(self, fence: Fence) -> str:
        """What is asked of an event: first what it can be looked up by."""
        parts = [self._bounds(bound) for bound in sorted(fence.bounds, key=lambda bound: bound.operator != "=")]
        parts += [self._ways(fence.ways)] if fence.ways else []
        parts += [_count(len(fence.tests), "other condition")] if fence.tests else []
        return ", ".join(parts) or "any event"

    def _ways(self, ways: Sequence[Fence]) -> str:
        texts = [" and ".join(self._fence(way).split(", ")) for way in ways[:MOST]]
        return " or ".join([*texts, f"{len(ways) - MOST:,} more"] if len(ways) > MOST else texts)

    def _bounds(self, bounds: Bounds) -> str:
        if bounds.key.computed is not None:
            return self._key(bounds.key)
        constant = bounds.constant
        limit = print_expression(constant) if isinstance(constant, Literal) else _parameter(constant.column)
        return f"{self._key(bounds.key)} {bounds.operator} {limit}"

    def _key(self, key: Key) -> str:
        if key.computed is not None:
            return key.computed.text
        if key.partitions is not None:
            return ", ".join(key.partitions.all)
        return key.column or self.rules.roles.type or "type"

    def _found(self, layout: TablesLayout) -> Iterator[tuple[str, str, str]]:
        for depth, lookups in enumerate(layout.found_by):
            for lookup in lookups:
                yield f"step {depth + 1}", f"{lookup.nodes:,}", self._lookup(lookup)
        if layout.children:
            yield "later", f"{layout.children:,}", "nothing: only a few can come next, and all are compared"

    def _lookup(self, lookup: NodeLookup) -> str:
        names = " and ".join(self._key(key) for key in lookup.keys)
        if lookup.sorted_by is not None or lookup.cells:
            how = " and ".join(self._key(key) for key in lookup.cells or (lookup.sorted_by,) if key is not None)
            by = f"cells of {how}" if lookup.cells else f"sorted bounds of {how}"
            looked = f"{names}, then {by}" if names else by
            return f"{looked}; an event is compared with what these leave of up to {lookup.most:,}"
        key_names = names or "nothing: no column must equal a constant"
        return f"{key_names}; an event is compared with up to {lookup.most:,}"

    def _waiting(self, waiting: Sequence[WaitingNodes]) -> Iterator[tuple[str, str]]:
        for nodes in waiting:
            listened = "any event: nothing to look up is asked of the next one"
            if nodes.key is not None:
                listened = f"events with their value of {self._key(nodes.key)}"
            yield f"after {_count(nodes.nodes, 'step')}", listened


def explain_many(rules: RuleSet, wrong: int, stream: ManyStream | None) -> Explanation:
    """Explain rules, of which some wrong ones are left out; how they run is known once a stream has them."""
    explained = Explained(rules, wrong) if stream is None else _explained(rules, wrong, stream)
    return Explanation("\n".join(explained.lines()))


def _explained(rules: RuleSet, wrong: int, stream: ManyStream) -> Explained:
    from cepheid.engine.many.routed.routed import RoutedTier
    from cepheid.engine.many.tables.shared import SharedTier

    places = list(stream.places())
    layouts = (tier.layout() for tier in stream.tiers.values() if isinstance(tier, SharedTier))
    joined: dict[RuleStreams, RuleStreams] = {}
    for place in places:
        tier = stream.tiers[place.tier]
        if isinstance(tier, RoutedTier):
            alike = RuleStreams(place.template, place.why, _routing(tier))
            known = joined.get(alike, alike)
            joined[alike] = replace(known, rules=known.rules + place.rules, streams=known.streams + 1)
    others = [place for place in places if not isinstance(stream.tiers[place.tier], RoutedTier | SharedTier)]
    return Explained(rules, wrong, tuple(layouts), tuple(joined.values()), tuple(others))


def _routing(tier: RoutedTier) -> str:
    """How a joined stream finds the rules of an event."""
    from cepheid.engine.many.routed.routers import ByConstants

    if isinstance(tier.router, ByConstants):
        ways = list(dict.fromkeys(map(_way, tier.router.ways)))
        if tier.router.later is not None:
            ways.append(f"all rules that have begun{_if(tier.router.later)}")
        why = f", since {tier.why_all}" if tier.why_all else ""
        return f"an event goes to the rules that it concerns: {' or '.join(ways)}{why}"
    return f"every event goes to every rule: {tier.why_all}"


def _way(way: Route) -> str:
    if way.pair is not None:
        return f"{way.pair[0]} = {_parameter(way.pair[1])}"
    compared = ((b.key.column, b.operator, b.constant) for b in way.bounds)
    texts = [f"{column} {op} {_parameter(c.column)}" for column, op, c in compared if not isinstance(c, Literal)]
    return " and ".join(texts) or f"all rules{_if(way.types)}"


def _if(types: tuple[str, ...]) -> str:
    return f", if it is {' or '.join(types)}" if types else ""


def _parameter(column: str) -> str:
    return column.removeprefix(constant_column(""))


def _some(lines: Iterable[str], count: int) -> Iterator[str]:
    """Lines about the first of so many."""
    yield from lines
    if count > MOST:
        yield f"  … {count - MOST:,} more"


def _deeper(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"
