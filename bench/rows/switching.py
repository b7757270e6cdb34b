"""The rates switch while a session runs (DEBS'15, section 7, Fig. 10)."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench import plots, queries
from bench.cache import stream
from bench.harness import Figure, Options, Target
from bench.plots import Labels
from bench.rows.rare import CHAINS
from cepheid import Query

PHASES = 6
BATCHES = 10  # of a phase: as in the paper, what is counted is counted every 10,000 events
RARE = "CAB"
PLANS = ("automaton", *CHAINS, "tree", "auto")
TARGET = Target("≥", 1 / 1.2)

Batches = npt.NDArray[np.float64]


def switching(options: Options) -> Iterator[Figure]:
    """One session through phases of other rates: the tree and auto against the best chain of each phase."""
    table = stream("switching", scale=options.scale)
    size = table.num_rows // (PHASES * BATCHES)
    batches = [table.slice(k * size, size) for k in range(PHASES * BATCHES)]
    query = Query(queries.SWITCHING)
    seconds, tests, matches, replans = {}, {}, {}, {}
    for plan in PLANS:
        seconds[plan], tests[plan], matches[plan], replans[plan] = _session(query, plan, batches)  # compiles, too
    assert len(set(matches.values())) == 1, f"switching: {matches}"
    for _ in range(options.times):
        for plan in PLANS:
            seconds[plan] = np.minimum(seconds[plan], _session(query, plan, batches)[0])

    spent = {plan: times.reshape(PHASES, BATCHES).sum(axis=1) * 1e3 for plan, times in seconds.items()}
    for phase in range(PHASES):
        best = min(CHAINS, key=lambda plan: spent[plan][phase])
        case = f"phase {phase + 1}, {RARE[phase % 3]} rare"
        course = ", ".join(f"{plan} {spent[plan][phase]:.3g}" for plan in PLANS)
        for plan in ("tree", "auto"):
            own, chain = float(spent[plan][phase]), float(spent[best][phase])
            note = f"ms: {course}" if plan == "tree" else f"{replans[plan]} plans anew by the end of the session"
            yield Figure("switching", case, plan, own, "ms", best, chain, chain / own, TARGET, note)
    _plot(seconds, tests, size, options)


def _session(query: Query, plan: str, batches: list[pa.Table]) -> tuple[Batches, Batches, int, int]:
    """Of each batch the seconds and the tests; of all the matches, and how often it was planned anew."""
    session = query.session(engine="compiled", plan=plan, lateness=0)
    seconds, tests, matches, before = [], [], 0, 0
    gc.collect()
    gc.disable()
    try:
        for batch in batches:
            begin = time.perf_counter()
            found = session.push(batch)
            matches += len(found)
            seconds.append(time.perf_counter() - begin)
            done = session.stats.tests
            tests.append(done - before)
            before = done
    finally:
        gc.enable()
    matches += len(session.close())
    return np.array(seconds), np.array(tests, float), matches, session.stats.replans


def _plot(seconds: dict[str, Batches], tests: dict[str, Batches], size: int, options: Options) -> None:
    at = [(k + 1) * size for k in range(PHASES * BATCHES)]
    title = "Rates switched: "
    labels = Labels(f"{title}time", "events", f"ms per {size:,} events", log=True)
    plots.lines("switching", labels, {p: (at, (s * 1e3).tolist()) for p, s in seconds.items()}, options.plots)
    labels = Labels(f"{title}evaluations (DEBS'15, Fig. 10)", "events", f"tests per {size:,} events", log=True)
    shown = {plan: (at, np.maximum(done, 1).tolist()) for plan, done in tests.items()}
    plots.lines("switching_tests", labels, shown, options.plots)
