"""Random workloads: queries, and streams on which different plans are right for them.

A shape is a query; each is tried on several streams with other rates, values and density, so that the best plan of one
query differs from stream to stream, and the compiled kernels are used again. A draw is taken only if a cheap estimate
says that its best plan takes 5 to 300 ms, that no plan runs for ever, and that its matches can be held.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice, permutations, product
from math import factorial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

STREAMS = 8  # of a shape; one for which less than half of them are found is left out
WINDOW = 10_000  # in ms; how many events that are, the stream decides
WINDOWS = np.unique(np.geomspace(10, 5_000, 40).astype(int))  # in events
TUPLES = 5_000  # drawn to estimate how selective the conditions are together
MOST_MATCHES = 2_000_000  # by estimate, so that the 3 million that there may be are not exceeded
MOST_PARTIAL = 10_000_000  # partial matches that the worst plan may build
EVENT, VISIT = 15e-9, 1.5e-9  # seconds: what an event and a candidate cost, about
MATCH = 7e-9, 20e-9  # at least, and at most
SHORTEST, LONGEST, DROWNED = 0.005, 0.3, 20  # of the best plan, and of the worst

Draws = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Condition:
    """What two events have to be to each other, or one event alone, where `y` is -1."""

    x: int
    y: int
    kind: str
    value: int = 0

    def text(self, names: str) -> str:
        """As the query has it."""
        x, y = names[self.x], names[self.y]
        return {
            "<": f"{x}.price < {y}.price",
            ">": f"{x}.price > {y}.price",
            "=": f"{x}.level = {y}.level",
            "up": f"{y}.price - {x}.price > {self.value}",
            "near": f"abs({y}.price - {x}.price) < {self.value}",
            "high": f"{x}.price > {self.value}",
        }[self.kind]

    def holds(self, price: Draws, level: Draws) -> npt.NDArray[np.bool_]:
        """For each tuple of values."""
        x, y = price[self.x], price[self.y]
        if self.kind == "=":
            return np.asarray(level[self.x] == level[self.y])
        if self.kind == "high":
            return np.asarray(x > self.value)
        step = y - x
        if self.kind == "near":
            return np.asarray(abs(step) < self.value)
        return np.asarray(step < 0 if self.kind == ">" else step > self.value)

    @property
    def reads(self) -> frozenset[int]:
        """The components that it is about."""
        return frozenset({self.x} if self.y < 0 else {self.x, self.y})


@dataclass(frozen=True)
class Shape:
    """A query: components in sequence, some of them perhaps in any order, perhaps an absence between two."""

    types: str  # of each component, in the order of the text
    together: range  # the components that are operands of AND
    absent: int | None  # the component before which there must be no N
    keyed: bool
    conditions: tuple[Condition, ...]
    absent_condition: bool

    @property
    def names(self) -> str:
        """The variables of the components."""
        return "abcde"[: len(self.types)]

    @cached_property
    def text(self) -> str:
        """As a query."""
        items = []
        for k, (type_, name) in enumerate(zip(self.types, self.names, strict=True)):
            if k == self.absent:
                items.append("!(N n)")
            if k in self.together:
                if k == self.together.start:
                    inside = ", ".join(f"{self.types[j]} {self.names[j]}" for j in self.together)
                    items.append(f"AND({inside})")
            else:
                items.append(f"{type_} {name}")
        pattern = items[0] if len(items) == 1 else f"SEQ({', '.join(items)})"
        where = ["[key]"] * self.keyed + [c.text(self.names) for c in self.conditions]
        if self.absent_condition and self.absent is not None:
            where.append(f"n.price > {self.names[self.absent - 1]}.price")
        chosen = f" WHERE {' AND '.join(where)}" if where else ""
        return f"PATTERN {pattern}{chosen} WITHIN {WINDOW} milliseconds"

    def orders_in_time(self, some: frozenset[int]) -> int:
        """In how many orders these components may follow one another."""
        return factorial(len(some & set(self.together)))


@dataclass(frozen=True)
class World:
    """What the stream of a shape is drawn with."""

    seed: int
    events: int
    window: int  # in events
    rates: dict[str, float]  # of each type, and of what is of no interest
    means: dict[str, float]  # of the prices of each type
    keys: int
    levels: int

    def table(self) -> pa.Table:
        """The stream."""
        rng = np.random.default_rng([self.seed, 1])
        kinds, rates = list(self.rates), np.array(list(self.rates.values()))
        kind = rng.choice(len(kinds), self.events, p=rates / rates.sum())
        mean = np.array([self.means[name] for name in kinds])[kind]
        return pa.table(
            {
                "ts": np.arange(self.events, dtype=np.int64) * round(WINDOW / self.window),
                "type": pa.DictionaryArray.from_arrays(kind.astype(np.int32), kinds),
                "key": rng.integers(0, self.keys, self.events),
                "price": rng.normal(mean, 10.0).round(4),
                "level": rng.integers(0, self.levels, self.events),
            }
        )


@dataclass(frozen=True)
class Workload:
    """A query and a stream."""

    number: int
    shape: Shape
    world: World

    @property
    def text(self) -> str:
        """The query."""
        return self.shape.text

    @property
    def variables(self) -> str:
        """Those that an order is of."""
        return self.shape.names

    def rarest_first(self) -> str:
        """The order that the rates alone suggest."""
        return "".join(sorted(self.variables, key=lambda name: self.world.rates[self._type(name)]))

    def _type(self, name: str) -> str:
        return self.shape.types[self.shape.names.index(name)]

    def __str__(self) -> str:
        world = self.world
        rates = " ".join(f"{name} {rate:.2g}" for name, rate in world.rates.items())
        keys = f", {world.keys} keys" * self.shape.keyed
        return f"{self.text}; {world.events:,} events, {world.window} in a window, rates {rates}{keys}"


def workloads(how_many: int) -> Iterator[Workload]:
    """The first of them; always the same."""
    return islice(_all(), how_many)


def _all() -> Iterator[Workload]:
    number = 0
    for seed in count():
        shape = _shape(np.random.default_rng([seed, 0]))
        worlds = list(islice(_worlds(shape, seed), STREAMS))
        for world in worlds if 2 * len(worlds) >= STREAMS else ():
            yield Workload(number, shape, world)
            number += 1


def _shape(rng: np.random.Generator) -> Shape:
    size = int(rng.choice([2, 3, 4, 5], p=[0.15, 0.35, 0.3, 0.2]))
    types = "ABCDE"[:size]
    together, absent = range(0), None
    form = rng.random()
    if form < 0.1 and size <= 3:
        together = range(size)
    elif form < 0.3 and size >= 3:
        first = int(rng.integers(0, size - 1))
        together = range(first, first + 2)
    elif form < 0.4 and size >= 3:  # a type twice
        twice = int(rng.integers(1, size))
        types = types[:twice] + types[int(rng.integers(0, twice))] + types[twice + 1 :]
    places = [k for k in range(1, size) if k not in together and k - 1 not in together]
    if places and rng.random() < 0.5:
        absent = int(rng.choice(places))
    return Shape(
        types, together, absent, bool(rng.random() < 0.5), tuple(_conditions(rng, size)), bool(rng.random() < 0.5)
    )


def _conditions(rng: np.random.Generator, size: int) -> Iterator[Condition]:
    pairs = [(k, k + 1) for k in range(size - 1) if rng.random() < 0.7]
    if size > 2 and rng.random() < 0.3:
        x = int(rng.integers(0, size - 2))
        pairs.append((x, int(rng.integers(x + 2, size))))
    for x, y in pairs:
        kind = str(rng.choice(["<", ">", "=", "up", "near"]))
        value = {"up": (5, 10, 20), "near": (1, 3)}.get(kind, (0,))
        yield Condition(x, y, kind, int(rng.choice(value)))
    if rng.random() < 0.2:
        yield Condition(int(rng.integers(0, size)), -1, "high", int(rng.choice([100, 110])))


def _worlds(shape: Shape, seed: int) -> Iterator[World]:
    """Streams on which the shape can be run; few draws may do."""
    kinds = [*dict.fromkeys(shape.types), *("N" * (shape.absent is not None)), "X"]
    for draw in range(120):
        rng = np.random.default_rng([seed, draw, 2])
        weights = np.exp(rng.uniform(np.log(0.001), 0, len(kinds)))
        world = World(
            seed=seed * 1000 + draw,
            events=int(np.exp(rng.uniform(np.log(20_000), np.log(200_000)))),
            window=1,
            rates=dict(zip(kinds, (weights / weights.sum()).tolist(), strict=True)),
            means=dict(zip(kinds, rng.normal(100, 5, len(kinds)).tolist(), strict=True)),
            keys=int(np.exp(rng.uniform(np.log(2), np.log(300)))),
            levels=int(np.exp(rng.uniform(np.log(3), np.log(300)))),
        )
        most = np.exp(rng.uniform(np.log(30_000), np.log(MOST_MATCHES)))  # lest all the work be output
        fit = list(_windows(shape, world, float(most)))
        if fit:
            gap = round(WINDOW / int(rng.choice(fit)))  # between two events, in ms
            yield World(**{**world.__dict__, "window": round(WINDOW / gap)})


def _windows(shape: Shape, world: World, most_matches: float) -> Iterator[int]:
    """The windows in which the best plan has enough to do, and the worst not too much."""
    rates = [world.rates[name] for name in shape.types]
    keys = world.keys if shape.keyed else 1
    # How many partial matches of a set of components begin at an event, window by window.
    built = {}
    for some, share in _shares(shape, world).items():
        places = len(some) - 1
        rate = float(np.prod([rates[k] for k in some])) * shape.orders_in_time(some) * share
        built[some] = rate / factorial(places) * (WINDOWS / keys) ** places
    costs = []
    for order in permutations(range(len(rates))):
        steps = [built[frozenset(order[:k])] for k in range(1, len(order))]
        scanned = sum(n * rates[k] * WINDOWS / keys for n, k in zip(steps, order[1:], strict=True))
        costs.append((4 * sum(steps), scanned, sum(steps)))
    # The least work of an order with and without an index, and the partial matches of the worst.
    indexed, scanned, partial = (np.array(column) for column in zip(*costs, strict=True))
    matches = built[frozenset(range(len(rates)))] * world.events
    left = matches
    if shape.absent is not None:  # of the gap in which it must be absent, anything up to twice the average is alike
        expected = world.rates["N"] * 2 * WINDOWS / len(rates) / keys
        left = matches * (1 - np.exp(-expected)) / expected
    least, most = world.events * EVENT + left * MATCH[0], world.events * EVENT + matches * MATCH[1]
    fit = least + world.events * VISIT * indexed.min(axis=0) >= SHORTEST
    fit &= most + world.events * VISIT * scanned.min(axis=0) <= LONGEST
    fit &= world.events * VISIT * scanned.max(axis=0) <= DROWNED
    fit &= (world.events * partial.max(axis=0) <= MOST_PARTIAL) & (matches <= most_matches)
    return iter(WINDOWS[fit].tolist())


def _shares(shape: Shape, world: World) -> dict[frozenset[int], float]:
    """Of each set of components: how much of its tuples the conditions leave."""
    rng = np.random.default_rng(world.seed)
    price = np.array([rng.normal(world.means[name], 10, TUPLES) for name in shape.types])
    level = rng.integers(0, world.levels, price.shape).astype(float)
    held = {c: c.holds(price, level) for c in shape.conditions}
    shares = {}
    for chosen in product((False, True), repeat=len(shape.types)):
        some = frozenset(k for k, member in enumerate(chosen) if member)
        if not some:
            continue
        left = np.ones(TUPLES, bool)
        for condition, holds in held.items():
            if condition.reads <= some:
                left &= holds
        shares[some] = max(float(left.mean()), 1 / TUPLES)
    return shares
