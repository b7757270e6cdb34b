"""Figures 8, 9, 16 and 17 of AFA (VLDB'10, section 6 and appendix D): ours beside the paper's words.

The curves are lost in the text that we have; what it says of them is in the notes. All are of 100,000 ticks in order.
"""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from math import nan
from textwrap import wrap

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import cepheid as cep
from bench import plots, queries
from bench.arrivals import Arrivals, held
from bench.cache import made, stream
from bench.harness import Figure, Options, race, throughput
from bench.native.algorithm1 import Algorithm1
from bench.plots import Labels
from bench.workloads import quiet_ticks
from cepheid import Query
from cepheid.engine.session.change_times import in_ticks
from cepheid.front.automata.timeline import Change
from cepheid.pattern.binding.schema import make_schema

EVENTS = 100_000
BATCH = 1_000

# Figure 8: Q1 with k = 2, p = 0.5, W = 2000, no ignorable events.
LONG = 2_000

# Figure 9: Q3, W = 500, p = 0.5; every d events an arc is replaced by one for the other direction.
INTERVALS = (10, 30, 100, 300, 1_000, 3_000, 10_000)
ARCS = 8
MORE = 20  # times as many rounds of what takes 2 ms
RESTARTS = 20  # so many of them are timed

# Figures 16 and 17: Q1 with k = 1, p = 0.5, W = 500, δ = 0; I % of the events do not move.
WINDOW = 500
QUIET = (0, 10, 20, 30, 40, 50, 60, 70, 80, 90)

ACROSS, CHANGING = "Fig. 8, speed", "Fig. 9, speed"
SPEED, HELD = "Fig. 16, speed", "Fig. 17, held"
SAID = {
    ACROSS: "AFA with sequence numbers is fastest, AFA slightly worse, then AFA+ignore; CAN 25 % below, IPM 5x worse",
    CHANGING: "static ~350 k/s; an arc every 10 events costs less than 10 %; restart degenerates quickly",
    SPEED: "a slight drop at the start, then increasing with I; beyond I = 80 % faster than the basic operator",
    HELD: "memory drops significantly as I increases; without the optimization it remains high",
}

Curves = dict[str, tuple[list[float], list[float]]]


def afa(options: Options) -> Iterator[Figure]:
    """AFA Fig. 8, 9, 16 and 17: approaches, arcs that change, and events that can be ignored."""
    left = dict(SAID)
    for figure in chain(_across(options), _changing(options), _ignoring(options)):
        said = f"the paper: {left.pop(figure.clock)}" if figure.clock in left else ""
        yield replace(figure, note="; ".join(filter(None, (said, figure.note))))


def _title(figure: str, clock: str) -> str:
    """What a plot is of, and what the paper says of its own."""
    return "\n".join([figure, *wrap(f"The paper: {SAID[clock]}", 72)])


# Figure 8.


def _across(options: Options) -> Iterator[Figure]:
    table = stream("ticks", int(EVENTS * options.scale))
    window = f"{LONG} milliseconds"  # one event in each
    texts = {
        "automaton": queries.q1(2, 0.25, window, ignores=False),
        "with IGNORE": queries.q1(2, 0.25, window, ignores=True),
        "SASE+ query": queries.vs(2, window),
    }
    asked = {name: Query(text, type="type" if name == "SASE+ query" else None) for name, text in texts.items()}
    rivals = {f"Algorithm 1, {way}": Algorithm1(table, "Q1 k=2", LONG, 0, way, BATCH) for way in ("tuned", "printed")}
    runners: dict[str, Callable[[], object]] = dict(rivals)
    wanted = _ends(asked["automaton"], table)
    for name, query in asked.items():
        assert np.array_equal(_ends(query, table), wanted), name
        some = Arrivals(query, table, 0)
        batches = some.batches(BATCH)
        runners[f"{name}, a table"] = partial(_matched, query, table)
        runners[f"{name}, a session"] = partial(some.run, {}, batches)
        runners[f"{name}, speculating"] = partial(some.run, {"speculate": "all"}, batches)
    for name, rival in rivals.items():
        rival()
        assert np.array_equal(np.unique(rival.stands(), axis=0), np.unique(wanted, axis=0)), name
    seconds = race(runners, options.times, clock=time.process_time)
    speeds = {name: throughput(table.num_rows, spent) for name, spent in seconds.items()}
    for name, speed in speeds.items():
        note = f"{len(wanted):,} matches" if name.startswith("automaton") else ""
        yield Figure("afa", f"Q1 k=2, {name}", ACROSS, speed, "M events/s", note=note)
    ways = ("a table", "a session", "speculating")
    bars = {name: [speeds[f"{name}, {way}"] for way in ways] for name in asked}
    bars |= {name: [nan, speeds[name], speeds[name]] for name in rivals}  # which speculates, and takes batches
    title = _title(f"Fig. 8: Q1, k = 2, W = {LONG:,}, in order", ACROSS)
    labels = Labels(title, "", "million events/s", log=True, beside=True)
    plots.bars(
        "afa_approaches",
        labels,
        ["one table", "a session", 'speculate="all"'],
        bars,
        options.plots,
    )


def _ends(query: Query, table: pa.Table) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    found = query.match(table, engine="compiled").to_arrow()
    return np.stack([found.column(name).to_numpy() for name in ("match_start", "match_end")], axis=1)


def _matched(query: Query, table: pa.Table) -> int:
    return len(query.match(table, engine="compiled"))


# Figure 9.


def _changing(options: Options) -> Iterator[Figure]:
    table = stream("ticks", int(EVENTS * options.scale))
    directions = [number % 2 for number in range(ARCS)]
    query = Query(_line(directions), type=None)
    schema = make_schema(table.schema, query.compiled.roles)
    curves: Curves = defaultdict(lambda: ([], []))
    for interval in INTERVALS:
        log = list(_flips(directions, table.num_rows, interval))
        changed = query.with_log(in_ticks(log, schema, None), schema)
        quick: dict[str, Callable[[], object]] = {
            "dynamic": partial(_matched, changed, table),
            "static": partial(_matched, query, table),
        }
        runners: dict[str, Callable[[], object]] = {
            "dynamic, list read": partial(_with_list, query, table, log),
            "restart": partial(_restarted, directions, table, interval),
        }
        pieces = min(RESTARTS, table.num_rows // interval)
        seconds = race(quick, MORE * options.times, clock=time.process_time)
        seconds |= race(runners, min(options.times, 5), clock=time.process_time)
        gone = dict.fromkeys(seconds, table.num_rows) | {"restart": pieces * interval}
        rates = {name: throughput(gone[name], spent) for name, spent in seconds.items()}
        found = _matched(changed, table), _matched(query, table)
        note = f"{len(log) // 2:,} arcs replaced; {found[0]:,} matches, static {found[1]:,}"
        for rival in ("static", "restart"):
            ratio = rates["dynamic"] / rates[rival]
            yield Figure(
                "afa",
                f"Q3, d = {interval:,}",
                CHANGING,
                rates["dynamic"],
                "M events/s",
                rival,
                rates[rival],
                ratio,
                note=note,
            )
            note = f"with the reading of the list {rates['dynamic, list read']:.3g} M events/s"
        for name, rate in rates.items():
            xs, ys = curves[name]
            xs.append(interval)
            ys.append(rate)
    title = _title(f"Fig. 9: Q3, W = {WINDOW}, an arc replaced every d events", CHANGING)
    plots.lines(
        "afa_changing", Labels(title, "d, events", "million events/s", log=True, log_x=True), curves, options.plots
    )


def _line(directions: list[int]) -> str:
    arcs = "\n".join(f"ARC a{k}: q{k} -> q{k + 1} WHEN {_asked(up)}" for k, up in enumerate(directions))
    return f"AUTOMATON q0 -> q{ARCS}\n{arcs}\nWITHIN {WINDOW} events"


def _asked(up: int) -> str:
    return "e.change > 0" if up else "e.change < 0"


def _flips(directions: list[int], events: int, interval: int) -> Iterator[Change]:
    """A random arc is replaced by one for the other direction."""
    chance, now = random.Random(9), list(directions)
    arcs = [[cep.add_arc(f"q{k}", f"q{k + 1}", _asked(up), name=f"a{k}") for up in (0, 1)] for k in range(ARCS)]
    for at in range(interval, events, interval):
        k = chance.randrange(ARCS)
        now[k] = 1 - now[k]
        yield cep.remove_arc(f"a{k}", at=at)
        yield replace(arcs[k][now[k]], at=at)


def _with_list(query: Query, table: pa.Table, log: list[Change]) -> int:
    return len(query.match(table, engine="compiled", changes=log))


def _restarted(directions: list[int], table: pa.Table, interval: int) -> int:
    """Every so many events another query begins, with the window before that to build its state."""
    chance, now, found = random.Random(9), list(directions), 0
    for at in range(0, min(RESTARTS * interval, table.num_rows), interval):
        query = Query(_line(now), type=None)
        begin = max(0, at - WINDOW)
        found += len(query.match(table.slice(begin, at + interval - begin)))
        k = chance.randrange(ARCS)
        now[k] = 1 - now[k]
    return found


# Figures 16 and 17.


def _ignoring(options: Options) -> Iterator[Figure]:
    window = f"{WINDOW} milliseconds"  # one event in each, also where some are ignored
    speed: Curves = defaultdict(lambda: ([], []))
    memory: Curves = defaultdict(lambda: ([], []))
    texts = {"IGNORE": queries.q1(1, 0.0, window, ignores=True), "FROM … WHERE": _filtered(window)}
    asked = {name: Query(text, type=None) for name, text in texts.items()}
    # Algorithm 1 is given the events that move, and its speed is that of all of them.
    for quiet in QUIET:
        table = made(
            f"quiet_ticks_{quiet}", lambda n, share=quiet: quiet_ticks(n, share / 100), int(EVENTS * options.scale)
        )
        moving = table.filter(pc.not_equal(table.column("change"), 0.0)).combine_chunks()
        rival = Algorithm1(moving, "Q1 k=1", WINDOW, 0, "tuned", BATCH, drop=0.0)
        rival()
        wanted = np.unique(rival.stands(), axis=0)
        runners: dict[str, Callable[[], object]] = {"Algorithm 1": rival}
        most = {"Algorithm 1": float(rival.held)}
        for name, query in asked.items():
            assert np.array_equal(np.unique(_ends(query, table), axis=0), wanted), f"{name}, I = {quiet} %"
            some = Arrivals(query, table, 0)
            runners[name] = partial(_matched, query, table)
            runners[f"{name}, a session"] = partial(some.run, {}, some.batches(BATCH))
            most[f"{name}, with room for more"] = max(held(some, {}, BATCH))
            most[f"{name}, as a snapshot"] = max(_written(some))
        seconds = race(runners, options.times, clock=time.process_time)
        speeds = {name: throughput(table.num_rows, spent) for name, spent in seconds.items()}
        sizes = {name: size / 1e3 for name, size in most.items()}
        for clock, found, unit, curves in ((SPEED, speeds, "M events/s", speed), (HELD, sizes, "kB", memory)):
            for name, value in found.items():
                note = f"{len(wanted):,} matches" if name == "IGNORE" else ""
                yield Figure("afa", f"Q1 k=1, I = {quiet} %, {name}", clock, value, unit, note=note)
                xs, ys = curves[name]
                xs.append(quiet)
                ys.append(value)
    x = "ignorable events, %"
    title = _title(f"Fig. 16: Q1, k = 1, W = {WINDOW}, δ = 0, in order", SPEED)
    plots.lines(
        "afa_ignoring_speed",
        Labels(title, x, "million events/s", log=True, beside=True),
        speed,
        options.plots,
    )
    title = _title("Fig. 17: the same, what is held at most", HELD)
    plots.lines("afa_ignoring_memory", Labels(title, x, "kB", log=True, beside=True), memory, options.plots)


def _written(some: Arrivals) -> list[int]:
    """How many bytes a snapshot has after each batch."""
    session, seen = some.session({}), []
    for batch in some.batches(BATCH):
        len(session.push(batch))
        seen.append(len(session.snapshot()))
    return seen


def _filtered(window: str) -> str:
    """Q1 for which events that do not move are not there: what AFA's basic operator is on such a stream."""
    return f"FROM stream WHERE change <> 0\n{queries.q1(1, 0.0, window, ignores=False)}"
