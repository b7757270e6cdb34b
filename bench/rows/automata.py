"""Automata of one's own (AFA): W5 against C++, and Q3 whose arcs change (AFA Fig. 9)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import cepheid as cep
from bench import native, queries
from bench.cache import stream
from bench.harness import Figure, Options, Target, race, throughput
from bench.native import Loop
from bench.ours import Ours
from cepheid import Query
from cepheid.engine.session.change_times import in_ticks
from cepheid.front.automata.timeline import Change
from cepheid.pattern.binding.schema import make_schema

OF_NATIVE = Target("≥", 0.8)
OF_STATIC = Target("≥", 0.9)
OF_ANEW = Target("≥", 30)
PAUSE = Target("≤", 5)  # ms

MANY = 1_000_000  # events of W5
EVENTS = 100_000  # of Q3
EVERY = 10  # events after which an arc is replaced
MORE = 20  # times as many rounds of what takes 2 ms
PIECES = 200  # of so many events each: what starting anew is timed on
ARCS = 8
PAUSES = 1_000  # changes of one session


def automata(options: Options) -> Iterator[Figure]:
    """Automata of one's own: W5 against C++, arcs that change against those that stay."""
    yield from _vshapes(options)
    yield from _changing(options)
    yield _pause(None)
    yield _pause("all")


def _vshapes(options: Options) -> Iterator[Figure]:
    table = stream("ticks", int(MANY * options.scale))
    loops = {
        "W5 balanced": (queries.W5_BALANCED_AUTOMATON, native.w5_balanced(table, queries.W5_WINDOW)),
        "W5 prices": (queries.W5_PRICES_AUTOMATON, native.w5_prices(table, queries.W5_WINDOW)),
    }
    for case, (text, loop) in loops.items():
        query = Query(text, type=None)
        found = query.match(table, engine="compiled")
        _check(case, found.to_arrow(), table, loop)
        kernel = Ours(query, table)
        assert len(kernel.registers()) == len(found), f"{case}: the kernel gives a match twice"
        runners: dict[str, Callable[[], object]] = {
            "kernel": kernel.registers,
            "end to end": partial(_matched, query, table),
            "C++": loop.timed,
        }
        seconds = race(runners, options.times, clock=time.process_time)
        for clock, target, note in (
            ("kernel", OF_NATIVE, f"{len(found):,} matches, their first and last events and registers"),
            ("end to end", None, ""),
        ):
            yield Figure(
                "automata",
                case,
                clock,
                throughput(table.num_rows, seconds[clock]),
                "M events/s",
                "C++",
                throughput(table.num_rows, seconds["C++"]),
                seconds["C++"] / seconds[clock],
                target,
                note,
            )


def _check(case: str, found: pa.Table, table: pa.Table, loop: Loop) -> None:
    """Both find matches from the same first to the same last events."""
    offsets, positions = loop()
    times = table.column("ts").to_numpy()
    ends = np.stack([times[positions[offsets[:-1]]], times[positions[offsets[1:] - 1]]], axis=1)
    own = np.stack([found.column(name).to_numpy() for name in ("match_start", "match_end")], axis=1)
    assert np.array_equal(np.unique(own, axis=0), np.unique(ends, axis=0)), f"{case}: not the matches of the loop"


def _matched(query: Query, table: pa.Table) -> int:
    return len(query.match(table, engine="compiled"))


def _changing(options: Options) -> Iterator[Figure]:
    """Q3 of AFA: eight arcs in a line, one of them replaced every ten events."""
    table = stream("ticks", int(EVENTS * options.scale))
    query = Query(queries.q3(ARCS), type=None)
    log = list(_changes(table.num_rows))
    schema = make_schema(table.schema, query.compiled.roles)
    changed = query.with_log(in_ticks(log, schema, None), schema)
    pieces = [table.slice(k * EVERY, EVERY) for k in range(PIECES)]

    def anew() -> int:
        return sum(len(query.match(piece)) for piece in pieces)

    def read() -> int:
        return len(query.match(table, engine="compiled", changes=log))

    assert read() == len(changed.match(table, engine="compiled"))
    quick: dict[str, Callable[[], object]] = {
        "changing": partial(_matched, changed, table),
        "static": partial(_matched, query, table),
    }
    seconds = race(quick, MORE * options.times, clock=time.process_time)
    seconds |= race({"read": read, "anew": anew}, options.times, clock=time.process_time)
    speed = {**dict.fromkeys(seconds, table.num_rows), "anew": PIECES * EVERY}
    rates = {name: throughput(events, seconds[name]) for name, events in speed.items()}
    replaced = f"{len(log) // 2:,} arcs replaced"
    for ours, rival, target, note in (
        ("changing", "static", OF_STATIC, f"{replaced}; the list of changes was read before"),
        ("changing", "anew", OF_ANEW, "likewise"),
        ("read", "anew", OF_ANEW, f"with the reading of the list of changes, {seconds['read'] * 1e3:.0f} ms in all"),
    ):
        ratio = rates[ours] / rates[rival]
        case = f"Q3, an arc every {EVERY} events"
        yield Figure(
            "automata", case, "end to end", rates[ours], "M events/s", rival, rates[rival], ratio, target, note
        )


def _changes(events: int) -> Iterator[Change]:
    chance = random.Random(1)
    for at in range(EVERY, events, EVERY):
        k = chance.randrange(ARCS)
        yield cep.remove_arc(f"a{k}", at=at)
        yield cep.add_arc(f"q{k}", f"q{k + 1}", queries.q3_condition(k, chance.random() / 10), name=f"a{k}", at=at)


def _pause(speculate: str | None) -> Figure:
    """How long a session takes to replace an arc by one of its shape, in ms."""
    table = stream("ticks", PAUSES * 20)
    options: dict[str, Any] = {} if speculate is None else {"speculate": speculate}
    session = Query(queries.q3(ARCS), type=None).session(lateness=50, engine="compiled", **options)
    spent = []
    for k, at in enumerate(range(0, table.num_rows, 20)):
        len(session.push(table.slice(at, 20)))
        begin = time.process_time()
        with session.changing() as change:
            change.remove_arc("a3")
            change.add_arc("q3", "q4", queries.q3_condition(3, 0.001 * (k + 1)), name="a3")
        spent.append((time.process_time() - begin) * 1e3)
    case = "a session, one arc replaced" + ("" if speculate is None else f", speculate={speculate!r}")
    note = f"the first {spent[0]:.2g}; of {PAUSES:,} 99 % up to {np.quantile(spent, 0.99):.2g}"
    return Figure("automata", case, "pause, CPU", float(np.median(spent)), "ms", target=PAUSE, note=note)
