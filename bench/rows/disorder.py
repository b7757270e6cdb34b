"""Late events: sessions that speculate against those that wait, and against Algorithm 1 of AFA in C++."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from bench import queries
from bench.arrivals import (
    ALL,
    CASES,
    CERTAIN,
    SHIFT,
    WAITING,
    Arrivals,
    allocated,
    arrivals,
    event_bytes,
    held,
    latency,
)
from bench.cache import stream
from bench.harness import Figure, Options, Target, race, throughput
from bench.machine_code import seconds_in_machine_code
from bench.native.algorithm1 import WAYS, Algorithm1
from bench.workloads import disordered
from cepheid import Query

EVENTS = 200_000
BATCH = 1000
PERCENT = (0, 5, 10, 30, 50)
CHECKED = 20_000  # events
ROUNDS = 5
ALONE = {"Q1": ("Q1 k=2", queries.W5_WINDOW), "Q2": ("Q2", queries.Q2_WINDOW)}  # what Algorithm 1 is written for

OF_WAITING = Target("≥", 0.5)
OF_CERTAIN = Target("≥", 0.5)
OF_ALGORITHM1 = Target("≥", 3)

SIZES = {10_000: EVENTS, 100_000: 4 * 100_000}  # of larger batches: how many events there are
LATE = (10, 50)  # percent of the events, there and where the machine code is timed

STEPS = {1000: (EVENTS, Target("≤", 1.4)), 1: (20_000, Target("≤", 3.3))}  # by the size of a batch: events, target

LATENESS = (1_000, 4_000, 16_000, 32_000)
OF_EVENTS = Target("≤", 3)
FLAT_EVENTS = 200_000
FLAT = Target("≤", 1.2)

BEFORE, TIMED = 10_000, 5_000  # events: pushed at once, and one by one
SOME = 10  # percent of the events late


def disorder(options: Options) -> Iterator[Figure]:
    """Late events: speculation against waiting and against Algorithm 1, larger batches, scan steps, memory, latency."""
    yield from _speed(options)
    yield from _larger_batches(options)
    yield from _steps(options)
    yield from _held()
    yield from _latency(options)


def _speed(options: Options) -> Iterator[Figure]:
    for case in CASES:
        for percent in PERCENT:
            yield from _compared(case, percent, options)


def _compared(case: str, percent: int, options: Options) -> Iterator[Figure]:
    events = int(EVENTS * options.scale)
    some = arrivals(case, events, percent)
    some.check(ALL, BATCH, CHECKED)
    batches = some.batches(BATCH)
    matches, changes = some.run(WAITING, batches), some.run(ALL, batches)
    runners: dict[str, Callable[[], object]] = {
        "all": partial(some.run, ALL, batches),
        "waiting": partial(some.run, WAITING, batches),
    }
    if percent == 0:
        runners["σ = 0"] = partial(some.run, CERTAIN, batches)
    if case in ALONE:
        for way in WAYS:
            runners[f"Alg. 1 {way}"] = checked(some, *ALONE[case], way)
    seconds = race(runners, min(options.times, ROUNDS), clock=time.process_time)
    targets = {"waiting": OF_WAITING if percent else None, "σ = 0": OF_CERTAIN}
    note = f"{matches:,} matches, {changes:,} changes, {seconds['all'] / len(batches) * 1e3:.3g} ms for each batch"
    for rival in list(runners)[1:]:
        yield Figure(
            "disorder",
            f"{case}, {percent} % late",
            f"batches of {BATCH:,}",
            throughput(events, seconds["all"]),
            "M events/s",
            rival,
            throughput(events, seconds[rival]),
            seconds[rival] / seconds["all"],
            targets.get(rival, OF_ALGORITHM1),
            note if rival == "waiting" else "",
        )
    if case in ALONE and percent in LATE:
        yield from _machine_code(case, percent, some, options, seconds)


def _machine_code(
    case: str, percent: int, some: Arrivals, options: Options, seconds: dict[str, float]
) -> Iterator[Figure]:
    """What going over the events takes without what a call costs."""
    run, events = partial(some.run, ALL, some.batches(BATCH)), some.table.num_rows
    alone = seconds_in_machine_code(run, min(options.times, ROUNDS))
    note = (
        f"{alone / seconds['all']:.0%} of the time; the rest is Python, numpy and Arrow: reading, gathering, forgetting"
    )
    for rival in [name for name in seconds if name.startswith("Alg. 1")]:
        yield Figure(
            "disorder",
            f"{case}, {percent} % late",
            "machine code alone",
            throughput(events, alone),
            "M events/s",
            rival,
            throughput(events, seconds[rival]),
            seconds[rival] / alone,
            note=note,
        )
        note = ""


def _larger_batches(options: Options) -> Iterator[Figure]:
    """The more events a call has, the less each has of what the call costs."""
    for case in ALONE:
        for percent in LATE:
            for size, events in SIZES.items():
                some = arrivals(case, max(int(events * options.scale), 4 * size), percent)
                yield from _by_size(case, percent, size, some, min(options.times, ROUNDS))


def _by_size(case: str, percent: int, size: int, some: Arrivals, rounds: int) -> Iterator[Figure]:
    some.check(ALL, size, CHECKED)
    batches, events = some.batches(size), some.table.num_rows
    runners: dict[str, Callable[[], object]] = {
        "all": partial(some.run, ALL, batches),
        "waiting": partial(some.run, WAITING, batches),
        **{f"Alg. 1 {way}": checked(some, *ALONE[case], way, size) for way in WAYS},
    }
    seconds = race(runners, rounds, clock=time.process_time)
    for rival in list(runners)[1:]:
        yield Figure(
            "disorder",
            f"{case}, {percent} % late",
            f"batches of {size:,}",
            throughput(events, seconds["all"]),
            "M events/s",
            rival,
            throughput(events, seconds[rival]),
            seconds[rival] / seconds["all"],
            OF_WAITING if rival == "waiting" else None,
        )


def checked(some: Arrivals, query: str, window: int, way: str, batch: int = BATCH) -> Algorithm1:
    """Algorithm 1, whose changes sum up to the matches of the events in order."""
    rival = Algorithm1(some.table, query, window, some.lateness, way, batch)
    rival()
    found = some.query.match(some.table, engine="compiled").to_arrow()
    wanted = np.stack([found.column(name).to_numpy() for name in ("match_start", "match_end")], axis=1)
    assert np.array_equal(rival.stands(), wanted), f"Algorithm 1 {way}, {query}: not the {len(wanted)} matches"
    return rival


def _steps(options: Options) -> Iterator[Figure]:
    """How many events the engine goes over for each that comes: exact, so one run says all."""
    for size, (events, target) in STEPS.items():
        some = arrivals("Q2", int(events * options.scale), 50)
        session = some.session(ALL)
        for batch in some.batches(size):
            session.push(batch)
        steps = session.stats.steps / some.table.num_rows
        note = f"{some.table.num_rows:,} events"
        yield Figure(
            "disorder", "Q2, 50 % late", f"steps, batches of {size:,}", steps, "for each", "", None, None, target, note
        )


def _held() -> Iterator[Figure]:
    """What a session holds with each event since the watermark, and whether it holds more the longer it runs."""
    behind = [SHIFT + lateness for lateness in LATENESS]  # no fewer if quick: some thousand events are held anyway
    for case, (name, text) in CASES.items():
        table = disordered(stream(name, 4 * behind[-1]), SOME, SHIFT)
        own, where = event_bytes(table), f"{case}, {SOME} % late"
        for clock, measure in (("held, state_bytes", held), ("held, allocated", allocated)):
            seen = {}
            for kind, speculates in (("all", ALL), ("waiting", WAITING)):
                sessions = (Arrivals(Query(text), table.slice(0, 4 * late), late) for late in behind)
                # Memory is freed in steps: the mean of the last half is that of some of them.
                seen[kind] = [float(np.mean(_half(measure(some, speculates, BATCH)))) for some in sessions]
            slopes = np.diff(seen["all"]) / np.diff(behind) / own
            mine, theirs = (float(np.polyfit(behind, one, 1)[0]) / own for one in seen.values())
            course = ", ".join(f"{late:,}: {one / 1e3:,.0f} kB" for late, one in zip(behind, seen["all"], strict=True))
            bend = ", ".join(f"{slope:.2f}" for slope in slopes)
            note = f"{clock} with events since the watermark {course}; an event has {own:.0f} bytes; slopes {bend}"
            yield Figure("disorder", where, clock, mine, "x events", "waiting", theirs, None, OF_EVENTS, note)
        yield _flat(case)


def _half(seen: list[int]) -> list[int]:
    """The second half."""
    return seen[len(seen) // 2 :]


def _flat(case: str) -> Figure:
    """Whether a session holds more at the end of a stream than after a quarter."""
    some = arrivals(case, FLAT_EVENTS, SOME)
    growth, most = {}, {}
    for kind, speculates in (("all", ALL), ("waiting", WAITING)):
        seen = held(some, speculates, BATCH)
        quarter = len(seen) // 4
        most[kind] = [max(seen[k * quarter : (k + 1) * quarter]) for k in range(4)]
        growth[kind] = most[kind][3] / most[kind][1]
    kilobytes = ", ".join(f"{one / 1e3:,.0f}" for one in most["all"])
    note = f"at most {kilobytes} kB in the quarters of {some.table.num_rows:,} events"
    where = f"{case}, {SOME} % late"
    return Figure(
        "disorder", where, "held, 4th/2nd quarter", growth["all"], "x", "waiting", growth["waiting"], None, FLAT, note
    )


def _latency(options: Options) -> Iterator[Figure]:
    before, timed = BEFORE, int(TIMED * options.scale) + SHIFT
    for case in CASES:
        some = arrivals(case, before + timed, SOME)
        latency(arrivals(case, before + 100, SOME), ALL, before)  # compiles
        now, waits = latency(some, ALL, before), latency(some, WAITING, before)
        for quantile in (50, 99):
            mine, theirs = (_quantile(seen.milliseconds, quantile) for seen in (now, waits))
            events = (_quantile(seen.events, quantile) for seen in (now, waits))
            note = "latency p{}: {:,.0f} events, waiting {:,.0f} events; {:,} and {:,} matches".format(
                quantile, *events, len(now.events), len(waits.events)
            )
            yield Figure(
                "disorder",
                f"{case}, {SOME} % late",
                f"to its + p{quantile}",
                mine,
                "ms",
                "waiting",
                theirs,
                theirs / mine,
                note=note,
            )


def _quantile(values: list[Any], quantile: int) -> float:
    return float(np.percentile(values, quantile)) if values else float("nan")
