"""Rules run together by the routed tier, and one by one: what property tests compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

import cepheid as cep
from cepheid.engine.encoding.times import ticks
from cepheid.engine.machines.factory import MachineFactory
from cepheid.engine.many.routed import RoutedTier
from cepheid.engine.many.variants import Template
from cepheid.engine.stream.input_stream import InputStream
from cepheid.engine.stream.rows import arrival_of
from cepheid.pattern.schema import Schema, make_schema
from cepheid.plan.spec import AUTO

Row = tuple[int, dict[str, Any]]


class Together:
    """Rules of one template over one stream, as a session would run them."""

    def __init__(
        self, query: cep.Query, events: pa.Schema, *, engine: str = "plain", params: Mapping[str, object] | None = None
    ) -> None:
        self.schema: Schema = make_schema(events, query.compiled.roles)
        self.template = Template(query.parsed, query.compiled.roles, query.compiled.functions, self.schema, params)
        self.factory = MachineFactory(engine, AUTO, None)
        self.stream = InputStream(self.schema, once=False)
        self.tiers: dict[int, RoutedTier] = {}
        self.where: dict[int, RoutedTier] = {}

    def add(self, numbers: Sequence[int], rules: pa.Table, at: int | None = None) -> list[int]:
        """Add rules; the numbers of those that can't be run."""
        shares, wrong = self.template.split(rules)
        own = np.asarray(numbers, np.int64)
        for share in shares:
            key = id(share.variant)
            if key not in self.tiers:
                self.tiers[key] = RoutedTier(0, share.variant.joined, self.factory)
            self.tiers[key].add(own[share.rows], share.constants, at)
            self.where |= dict.fromkeys(own[share.rows].tolist(), self.tiers[key])
        return [int(own[row]) for one in wrong for row in one.rows]

    def remove(self, numbers: Sequence[int], at: int) -> None:
        """Remove rules."""
        for number in numbers:
            if number in self.where:
                self.where[number].remove(np.array([number]), at)

    def push(self, events: pa.Table, now: int | None) -> list[Row]:
        """More events, all those before a time being in."""
        if events.num_rows:
            self.stream.arrivals.add(arrival_of(self.schema, events, ticks(self.schema, events)))
        batch = self.stream.release(now)
        found: list[Row] = []
        for tier in self.tiers.values():
            if batch is not None:
                tier.feed(batch)
            for one in tier.settle(now, self.stream):
                found += zip(one.numbers.tolist(), one.matches.to_pylist(), strict=True)
        if now is not None:
            needed = [tier.compact(now) for tier in self.tiers.values()]
            self.stream.cut(min((one for one in needed if one is not None), default=self.stream.events))
        return found
