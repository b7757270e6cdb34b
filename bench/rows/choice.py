"""What `plan="auto"` takes, against every plan that can be forced, on generated workloads."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pyarrow as pa

from bench import plots
from bench.generated import Workload, workloads
from bench.harness import Figure, Options, Target, race
from bench.ours import Ours, chosen
from bench.plots import Labels
from cepheid import Query

WORKLOADS = 200
ORDERS = 6  # that are timed of a workload
MOST_MATCHES = 3_000_000
HOPELESS = 3.0  # times the best on the first events: such a plan is not timed on all of them
DROWNED = 5.0, 0.03  # times the best, and seconds, on a part of those: such a plan is not even tried on all of them
WORST = 5  # that are told of


@dataclass(frozen=True)
class Seen:
    """What came of one workload: CPU seconds by plan."""

    workload: Workload
    seconds: dict[str, float]
    took: str
    matches: int

    @property
    def best(self) -> str:
        """The best plan that can be forced."""
        return min((plan for plan in self.seconds if plan != "auto"), key=self.seconds.__getitem__)

    @property
    def ratio(self) -> float:
        """How much longer auto takes."""
        return self.seconds["auto"] / self.seconds[self.best]


def choice(options: Options) -> Iterator[Figure]:
    """`plan="auto"` against the best forced plan, on generated workloads."""
    seen = [_see(workload, options) for workload in workloads(int(WORKLOADS * options.scale))]
    ratios = np.array([one.ratio for one in seen])
    taken = {plan: sum(_family(one.best) == plan for one in seen) for plan in ("automaton", "stacks", "lazy", "tree")}
    spread = ", ".join(f"{plan} {number}" for plan, number in taken.items())
    best = np.array([one.seconds[one.best] for one in seen]) * 1e3
    note = f"best: {spread}; it takes {best.min():.1f} to {best.max():.0f} ms, in the median {np.median(best):.0f}"
    case = f"{len(seen)} workloads"
    yield Figure("choice", case, "median", float(np.median(ratios)), "x the best", target=Target("≤", 1.1), note=note)
    yield Figure("choice", case, "90 %", float(np.quantile(ratios, 0.9)), "x the best", target=Target("≤", 1.5))
    worst = sorted(seen, key=lambda one: one.ratio, reverse=True)
    yield Figure("choice", case, "worst", worst[0].ratio, "x the best")
    for one in worst[:WORST]:
        course = ", ".join(f"{plan} {s * 1e3:.1f}" for plan, s in sorted(one.seconds.items(), key=lambda item: item[1]))
        note = f"took {one.took}; ms: {course}; {one.matches:,} matches; {one.workload}"
        yield Figure("choice", f"workload {one.workload.number}", "auto", one.ratio, "x the best", note=note)
    labels = Labels("auto against the best forced plan", "workloads, in order", "times the best", log=True)
    plots.lines("choice", labels, {"auto": (range(1, len(seen) + 1), np.sort(ratios).tolist())}, options.plots)


def _see(workload: Workload, options: Options) -> Seen:
    query, table = Query(workload.text), workload.world.table()
    plans = list(dict.fromkeys(["automaton", "stacks", "tree", *_orders(workload)]))
    first = table.slice(0, min(table.num_rows, max(table.num_rows // 5, 3 * workload.world.window)))
    for part in (16, 4, 2):  # a plan that drowns would take minutes; ever more of the first events tell
        tried = _try_all(query, plans, first.slice(0, first.num_rows // part))
        times, least = DROWNED
        plans = [plan for plan in plans if tried[plan] <= max(times * min(tried.values()), least)]
    tried = _try_all(query, plans, first)
    bound = HOPELESS * min(tried.values())
    left = ["auto", *(plan for plan in plans if tried[plan] <= bound)]
    runners = {plan: Ours(query, table, plan=plan).enumerate for plan in left}
    found = {plan: len(run()) for plan, run in runners.items()}
    assert len(set(found.values())) == 1, f"choice {workload.number}: {found}; {workload}"
    assert found["auto"] <= MOST_MATCHES, f"choice {workload.number}: {found['auto']:,} matches; {workload}"
    return Seen(workload, race(runners, options.times, clock=time.process_time), chosen(query, table), found["auto"])


def _try_all(query: Query, plans: Sequence[str], first: pa.Table) -> dict[str, float]:
    return {plan: _try(query, plan, first.slice(0, 10), first) for plan in plans}


def _try(query: Query, plan: str, few: pa.Table, first: pa.Table) -> float:
    """CPU seconds, without those for compiling; what is short is done again, lest a noisy moment decides."""
    len(query.match(few, engine="compiled", plan=plan))
    best = float("inf")
    for _ in range(3):
        begin = time.process_time()
        len(query.match(first, engine="compiled", plan=plan))
        best = min(best, time.process_time() - begin)
        if best > 0.1:
            break
    return best


def _orders(workload: Workload) -> Iterator[str]:
    """All orders of the components, or some."""
    names = workload.variables
    if len(names) <= 3:
        orders = ["".join(order) for order in permutations(names)]
    else:
        rng = np.random.default_rng(len(names))  # the same for all streams of a query, which are compiled once
        orders = [names[::-1], names, workload.rarest_first()]
        while len(set(orders)) < ORDERS:
            orders.append("".join(rng.permutation(list(names)).tolist()))
    yield from (f"lazy({','.join(order)})" for order in dict.fromkeys(orders))


def _family(plan: str) -> str:
    return plan.partition("(")[0]
