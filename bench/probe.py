"""What is measured in a process of its own. Prints what was seen as JSON.

python -m bench.probe memory WINDOW EVENTS VOLUME
    One session over a long stream, watched for memory. VOLUME is that below which an event ends a match, of 1,000
    possible ones.
python -m bench.probe compile N
    CPU seconds of compiling the kernel of every Nth test case, in lines; what is in the cache is not compiled.
python -m bench.probe joins N
    The same of the joins of every Nth test case, each in its own order: to store events, to group and to join them.
    And of a join of four, in every order.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench import queries, workloads
from bench.cpu import cpu_seconds
from bench.ours import Ours
from cepheid import Query
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.errors import CepheidError
from cepheid.plan.spec import STACKS, PlanKind, PlanSpec, order_of
from cepheid.testing import Case, read_cases

BATCH = 100_000
PIECES = 8  # streams that follow one another, so that generating does not take longer than matching
CASES = Path(__file__).parents[1] / "tests" / "cases"
FOUR = """
    PATTERN SEQ(A a, B b, C c, D d)
    WHERE [id] AND a.n = c.n AND b.n = d.n AND a.price < b.price AND b.price < c.price AND c.price < d.price
    WITHIN 1000 milliseconds
"""
"""Parts are sorted by whole numbers and by floats: more is generated for no join of the papers."""


def compile_seconds(query: Query, table: pa.Table) -> float:
    """CPU seconds to compile what a query needs for a table: those of the first run, without what a second takes."""

    def run() -> float:
        begin = cpu_seconds()
        len(query.match(table, engine="compiled"))
        return cpu_seconds() - begin

    return run() - run()


def compile_cases(every: int) -> None:
    """Compile the cases that are run, after one query that brings in what all of them share."""
    warnings.simplefilter("ignore")
    first = compile_seconds(Query("PATTERN SEQ(A a, B+ b[], C c)"), pa.table({"ts": [1], "type": ["A"]}))
    print(json.dumps({"case": "", "seconds": first}))
    for case in _cases(every):
        try:
            seconds = compile_seconds(Query(case.query, **case.options), case.events)
        except CepheidError:
            continue
        print(json.dumps({"case": _name(case), "seconds": seconds}), flush=True)


def _cases(every: int) -> list[Case]:
    """The cases that are run."""
    return [
        case for case in read_cases(CASES) if case.events is not None and not (case.expected and case.expected.error)
    ][::every]


def _name(case: Case) -> str:
    return f"{Path(case.file).stem}: {case.title}"


def compile_joins(every: int) -> None:
    """Compile the functions of joins; one that several share is compiled once, and counts for each."""
    warnings.simplefilter("ignore")
    known: dict[str, float] = {}
    compile_seconds(Query("PATTERN SEQ(A a, B+ b[], C c)"), pa.table({"ts": [1], "type": ["A"]}))  # what all share
    for name, compiled, plan in _joins(every):
        kernel = compiled.join_kernel(compiled.join, frozenset(), order_of(plan, compiled.join))
        for function in kernel.functions:
            if function.key not in known:
                begin = cpu_seconds()
                function.compiled()
                known[function.key] = cpu_seconds() - begin
        total = sum(known[function.key] for function in kernel.functions)
        print(json.dumps({"case": name, "seconds": total}), flush=True)


def _joins(every: int) -> Iterator[tuple[str, CompiledQuery, PlanSpec]]:
    """Each with its plan."""
    for case in _cases(every):
        try:
            compiled = Ours(Query(case.query, **case.options), case.events).compiled
        except CepheidError:
            continue
        if not compiled.why_not_joined:
            yield _name(case), compiled, STACKS
    table = pa.table({"ts": [1], "type": ["A"], "id": [1], "n": [1], "price": [1.5]})
    compiled = Ours(Query(FOUR), table).compiled
    for order in permutations("abcd"):
        yield f"four: {', '.join(order)}", compiled, PlanSpec(PlanKind.LAZY, order)


def watch_memory(window: int, events: int, volume: int) -> None:
    """Memory before, during and after."""
    pieces = [_coded(workloads.stock(BATCH, seed=seed)) for seed in range(PIECES)]
    query = Query(queries.w1("p2", "s3", window, volume=volume))
    for piece in pieces[:2]:  # imports, compiles and loads
        warm = query.session(engine="compiled", lateness=0)
        len(warm.push(piece))
    del warm
    start = _status("VmRSS")
    session = query.session(engine="compiled", lateness=0)
    trace, spent, matches = [], 0.0, 0
    for at in range(0, events, BATCH):
        batch = _shifted(pieces[at // BATCH % PIECES], at)
        begin = time.perf_counter()
        matches += len(session.push(batch))
        spent += time.perf_counter() - begin
        trace.append(_status("VmRSS"))
    seen = {
        "start": start,
        "peak": _status("VmHWM"),
        "trace": trace,
        "events": session.stats.events,
        "runs": session.stats.runs,
        "state": session.stats.state_bytes,
        "matches": matches,
        "speed": session.stats.events / spent / 1e6,
    }
    print(json.dumps(seen))


def _coded(table: pa.Table) -> pa.Table:
    return table.set_column(1, "type", table.column("type").dictionary_encode())


def _shifted(table: pa.Table, by: int) -> pa.Table:
    return table.set_column(0, "ts", pa.array(table.column("ts").to_numpy() + np.int64(by)))


def _status(name: str) -> float:
    """What Linux says of this process, in MB. `ru_maxrss` would be that of the parent where it was larger."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


if __name__ == "__main__":
    does = {"memory": watch_memory, "compile": compile_cases, "joins": compile_joins}
    does[sys.argv[1]](*map(int, sys.argv[2:]))
