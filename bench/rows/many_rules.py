"""Many queries as they come and go: how long they take to build, to add and to remove, and what they hold in memory."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from bench.cache import stream
from bench.cayuga import STEPS, Workload, workload
from bench.harness import Figure, Options, Target
from bench.many_texts import NAMES, SASE, texts
from cepheid import Queries

FROM_TABLE = Target("≤", 5)
FROM_TEXTS = Target("≤", 30)
ADDING = Target("≤", 50)
PAUSE = Target("≤", 50)
MEMORY = Target("≤", 256)

QUERIES = 400_000
ADDED = 1_000
BATCH = 1_000


def many_rules(options: Options) -> Iterator[Figure]:
    """400,000 queries: building them from a table and from texts, adding 1,000 while they run, memory for each."""
    count, events = int(QUERIES * options.scale), stream("cayuga", 100_000)
    yield from _changing(count, events)
    yield from _adding_texts(count, events)
    yield from _building(count, events)
    yield from _memory(count)


def template(primary: str = "d0") -> str:
    """The steps of the benchmark with fixed attributes: two values and two ranges each are the constants of a rule."""
    asks = []
    for name in NAMES:
        asks += [f"{name}.{primary} = first AND {name}.d1 = {name}_second"]
        asks += [f"{name}.c{k} >= {name}_low{k} AND {name}.c{k} < {name}_high{k}" for k in (0, 1)]
    where = " AND ".join(asks)
    return f"PATTERN SEQ(Event S1, Event S2, Event S3)\nWHERE skip_till_next_match {{ {where} }}\nWITHIN 20 ms"


def rule_table(queries: Workload, *, first_id: int = 0) -> pa.Table:
    """The constants of queries as a table of rules."""
    columns: dict[str, Any] = {"id": np.arange(first_id, first_id + len(queries)), "first": queries.value}
    lows = np.arange(25) / 25 * (1 - queries.selectivity)
    for step, name in zip(range(STEPS), NAMES, strict=True):
        columns[f"{name}_second"] = queries.other_values[:, step]
        for one in range(2):
            low = lows[queries.ranges[:, step, one]]
            columns[f"{name}_low{one}"], columns[f"{name}_high{one}"] = low, low + queries.selectivity
    return pa.table(columns)


def _building(count: int, events: pa.Table) -> Iterator[Figure]:
    """Up to what is ready for the first event, which is in the clock."""
    first = events.slice(0, 1)
    rules = rule_table(workload(count, "plain"))
    for _ in range(2):  # compiles
        seconds = _built(template(), rules, first)
    yield Figure("many_rules", f"{count // 1000}k from a table", "building", seconds, "s", target=FROM_TABLE)
    for name in (SASE, "Filter"):
        written = list(texts(workload(count, "loose"), name))
        Queries(written[:2_000], progress=False).match(first, progress=False)  # compiles
        seconds = _built(written, None, first)
        yield Figure("many_rules", f"{count // 1000}k from texts, {name}", "building", seconds, "s", target=FROM_TEXTS)


def _built(source: Any, rules: pa.Table | None, first: pa.Table) -> float:
    begin = time.process_time()
    Queries(source, rules, progress=False).match(first, progress=False)
    return time.process_time() - begin


def _changing(count: int, events: pa.Table) -> Iterator[Figure]:
    """Batches of events go in while rules come and go; the pause is the longest call, on the clock of its thread."""
    queries = Queries(template(), rule_table(workload(count, "plain")), progress=False)
    session = queries.session(lateness=0)
    batches = [events.slice(at, BATCH) for at in range(0, events.num_rows, BATCH)]
    before = [_timed(lambda batch=batch: len(session.push(batch))) for batch in batches[:20]][5:]
    adds, removes, pushes = [], [], []
    for turn, batch in enumerate(batches[20:60]):
        if turn % 2 == 0:
            rules = rule_table(workload(ADDED, "plain", seed=100 + turn), first_id=count + ADDED * turn)
            adds.append(_timed(lambda rules=rules: session.add(rules)))
        elif turn > 20:
            ids = range(count + ADDED * (turn - 21), count + ADDED * (turn - 20))
            removes.append(_timed(lambda ids=ids: session.remove(list(ids))))
        pushes.append(_timed(lambda batch=batch: len(session.push(batch))))
    case = f"{ADDED:,} to {count // 1000}k"
    usual = f"a push of {BATCH:,} events takes {_median(before):.1f} ms before, {_median(pushes):.1f} after"
    yield _milliseconds(case, "adding", adds, ADDING)
    yield _milliseconds(case, "removing", removes, ADDING)
    yield _milliseconds(case, "longest push", pushes, PAUSE, usual)


def _adding_texts(count: int, events: pa.Table) -> Iterator[Figure]:
    """The same of texts, whose conditions come in ever new combinations."""
    queries = Queries(list(texts(workload(count, "loose"), SASE)), progress=False)
    session = queries.session(lateness=0)
    more = [list(texts(workload(ADDED, "loose", seed=100 + turn), SASE)) for turn in range(20)]
    adds = []
    for turn, some in enumerate(more):
        session.push(events.slice(turn * BATCH, BATCH))
        adds.append(_timed(lambda some=some: session.add(some)))
    yield _milliseconds(f"{ADDED:,} texts to {count // 1000}k", "adding", adds, ADDING)


def _timed(call: Any) -> tuple[float, float]:
    begin, clock = time.thread_time(), time.perf_counter()
    call()
    return time.thread_time() - begin, time.perf_counter() - clock


def _median(spent: list[tuple[float, float]]) -> float:
    return 1e3 * float(np.median([cpu for cpu, _ in spent]))


def _milliseconds(case: str, what: str, spent: list[tuple[float, float]], target: Target, note: str = "") -> Figure:
    """The worst of some calls in CPU time."""
    cpu, wall = (1e3 * max(some) for some in zip(*spent, strict=True))
    told = f"median {_median(spent):.1f} ms; by the clock on the wall {wall:.0f} ms at worst"
    return Figure("many_rules", case, what, cpu, "ms", target=target, note=f"{told}; {note}" if note else told)


def _memory(count: int) -> Iterator[Figure]:
    """In a process of its own."""
    for how in ("table", "texts"):
        command = [sys.executable, "-m", "bench.many_memory", how, str(count)]
        seen = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        tables, constants, held = (seen[name] / count for name in ("tables", "constants", "held"))
        note = f"beside {constants:.0f} of constants; a process holds {held:.0f} more than before"
        case = f"{count // 1000}k, from {'a table' if how == 'table' else 'texts'}"
        yield Figure("many_rules", case, "tables", tables, "bytes a query", target=MEMORY, note=note)
        yield Figure("many_rules", case, "process, without constants", held - constants, "bytes a query", target=MEMORY)
