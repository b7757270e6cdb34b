"""W3: a rare event, last, first or in the middle of a sequence (DEBS'15, section 7)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from bench import native, queries
from bench.cache import stream
from bench.harness import Figure, Options, Target, race, throughput
from bench.ours import Ours, tests
from bench.rows.side_by_side import side_by_side
from cepheid import Query

MATCHES = {"last": 3_231_369}
CHAINS = [f"lazy({','.join(order)})" for order in permutations("abc")]
UNIT = "M events/s"
KERNEL = Target("≥", 0.8)


def rare(options: Options) -> Iterator[Figure]:
    """W3: lazy chains and the tree against the eager automaton, and against C++."""
    table = stream("rare_last", scale=options.scale)
    n = table.num_rows
    for place, text in queries.W3.items():
        case = f"C {place}"
        loop = native.w3(table, place, queries.W3_WINDOW)
        query = Query(text)
        engines = {plan: Ours(query, table, plan=plan) for plan in ("automaton", "tree", "auto", *CHAINS)}
        found = {plan: engine.count() for plan, engine in engines.items()}
        assert set(found.values()) == {loop.find()}, f"rare {case}: {found}, the C++ {loop.find()}"
        wanted = loop.find() if options.quick else MATCHES.get(place, loop.find())
        assert loop.find() == wanted, f"rare {case}: {loop.find():,} matches, not {wanted:,}"

        seconds = race({plan: engine.enumerate for plan, engine in engines.items()}, options.times)
        best = min(CHAINS, key=seconds.__getitem__)
        speeds = {plan: throughput(n, s) for plan, s in seconds.items()}
        course = ", ".join(f"{plan} {speed:.3g}" for plan, speed in speeds.items())
        gain = seconds["automaton"] / seconds[best]
        target = Target("≥", 5) if place == "last" else None
        yield Figure("rare", case, best, speeds[best], UNIT, "automaton", speeds["automaton"], gain, target, course)
        done = {plan: tests(text, table, plan) for plan in ("automaton", best, "tree")}
        target = Target("≥", 100) if place == "last" else None
        for plan in (best, "tree"):
            fewer = done["automaton"] / max(done[plan], 1)
            clock = f"tests, {plan}"
            yield Figure("rare", case, clock, done[plan], "tests", "automaton", done["automaton"], fewer, target)
        for plan, target in (("tree", Target("≥", 0.9)), ("auto", None)):
            ratio = seconds[best] / seconds[plan]
            yield Figure("rare", case, plan, speeds[plan], UNIT, best, speeds[best], ratio, target)
        targets = {"kernel": KERNEL if place == "last" else None}
        yield from side_by_side("rare", case, text, table, loop, options, plan=best, targets=targets)
