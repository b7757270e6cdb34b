"""The C++ loops and all plans find what the reference finds: without that their speed says nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import permutations, product

import pyarrow as pa

from bench import native, queries
from bench.cache import stream
from bench.check import positions, unpacked
from bench.harness import Figure, Options
from bench.native import Loop
from bench.native.algorithm1 import WAYS, Algorithm1
from bench.workloads import disordered
from cepheid import Query

Case = tuple[str, str, Callable[[pa.Table], Loop], str, int]  # name, query, loop, stream, events


def correct(options: Options) -> Iterator[Figure]:
    """The matches of every C++ loop and of every plan, compared with the reference."""
    for name, text, make, source, events in _cases():
        table = stream(source, events)
        wanted = _by_reference(text, source, events)
        found = unpacked(make(table)())
        if not name.startswith(("W1", "W4", "W5")):  # the matches of the others come in another order
            wanted, found = sorted(wanted), sorted(found)
        assert found == wanted, f"{name}: {len(found)} matches, the reference has {len(wanted)}"
        plans = list(_plans(name))
        for plan in plans:
            found = positions(Query(text).match(table, engine="compiled", plan=plan))
            assert sorted(found) == sorted(wanted), f"{name}, {plan}: {len(found)} matches, not {len(wanted)}"
        note = f"and {', '.join(plans)}" if plans else "" if wanted else "none"
        yield Figure("check", name, "equal", len(wanted), "matches", note=note)
    yield from _algorithm1()


def _algorithm1() -> Iterator[Figure]:
    """The changes of Algorithm 1 sum up to the matches, also where half of the events are late."""
    cases = {  # with windows that end some runs
        "Q1 k=1": (queries.vs(1, "5 events"), "ticks", 5),
        "Q1 k=2": (queries.W5_BALANCED.replace("2000 events", "10 events"), "ticks", 10),
        "Q2": (queries.Q2.replace("500 events", "10 events"), "rising_ticks", 10),
    }
    for (name, (text, source, window)), way in product(cases.items(), WAYS):
        table = disordered(stream(source, 4_000), 50, 300)
        rival = Algorithm1(table, name, window, 300, way, batch=1)
        rival()
        wanted = [(match[0], match[-1]) for match in _by_reference(text, source, 4_000)]
        assert list(map(tuple, rival.stands().tolist())) == wanted, f"Algorithm 1 {way}, {name}: not the matches"
        yield Figure("check", f"Algorithm 1 {way}, {name}", "sum equal", len(wanted), "matches")


def _plans(name: str) -> Iterator[str]:
    """Those of a sequence of single events; the others have one."""
    if name.startswith(("W2", "W3", "W4")):
        positive = "ac" if name.startswith("W4") else "abc"
        yield from ("automaton", "stacks", "tree", *(f"lazy({','.join(order)})" for order in permutations(positive)))


@cache
def _by_reference(text: str, source: str, events: int) -> list[tuple[int, ...]]:
    return positions(Query(text).match(stream(source, events), engine="reference"))


def _cases() -> Iterator[Case]:
    for predicate in queries.PREDICATES:
        for strategy in queries.STRATEGIES:
            variant = predicate + strategy
            for window in (40, 500):
                text = queries.w1(predicate, strategy, window)
                loop = _bound(native.w1, predicate, strategy, window)
                yield f"W1 {variant} {window}", text, loop, "stock", 2_000
            for algorithm in ("basic", "backtrack"):
                yield f"{algorithm} {variant}", text, _bound(native.sase, algorithm, variant, window), "stock", 2_000
    for algorithm in ("basic", "backtrack"):
        for strategy in queries.STRATEGIES:
            texts = {
                f"p3{strategy}_once": queries.w1("p3", strategy, output="NON_OVERLAP"),
                f"star_{strategy}_once": queries.w1_star(strategy),
            }
            for variant, text in texts.items():
                yield f"{algorithm} {variant}", text, _bound(native.sase, algorithm, variant, 500), "stock", 6_000
    yield "W2", queries.typed(), _bound(native.w2, queries.W2_WINDOW), "typed_v100", 20_000
    short = queries.typed(window=900)
    yield "W2 900 ms", short, _bound(native.w2, 900), "typed_v100", 50_000
    for place, text in queries.W3.items():
        short = text.replace("1000 milliseconds", "60 milliseconds")
        yield f"W3 C {place} 60 ms", short, _bound(native.w3, place, 60), "rare_last", 20_000
    yield "W4", queries.W4, _bound(native.w4, queries.W4_WINDOW), "rfid", 20_000
    short = queries.W4.replace("12 hours", "900 milliseconds")
    yield "W4 900 ms", short, _bound(native.w4, 900), "rfid", 20_000
    yield "W5 balanced", queries.W5_BALANCED, _bound(native.w5_balanced, queries.W5_WINDOW), "ticks", 2_000
    yield "W5 prices", queries.W5_PRICES, _bound(native.w5_prices, queries.W5_WINDOW), "ticks", 2_000


def _bound(make: Callable[..., Loop], *arguments: object) -> Callable[[pa.Table], Loop]:
    return lambda table: make(table, *arguments)
