"""The queries of Cayuga's benchmark (section 5.1) as texts, SASE+ and CESAR: how long it takes to read them.

A query has three steps; each asks for two values of discrete attributes d0 to d3, and two ranges of c0 to c3.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from cepheid import Queries
from cepheid.language.frames import frames_of
from cepheid.language.skeleton import cut

SASE = "PATTERN SEQ(Event a, Event b, Event c)\nWHERE skip_till_next_match(a, b, c) {{ {} AND {} AND {} }}\nWITHIN {} s"
FILTER = (
    "CESAR LET S1, S2, S3 := Event\n"
    "SELECT[{2}](SELECT[{1}](SELECT[{0}](S1) ;[S2.{4} AND DUR <= {3}] S2) ;[S3.{4} AND DUR <= {3}] S3)"
)


def sase_texts(queries: Mapping[str, Any], within: int = 20) -> Iterator[str]:
    """SASE+: one step after the other, by the next event that passes."""
    for steps, _ in _steps(queries, ("a.", "b.", "c.")):
        yield SASE.format(*steps, within)


def cesar_texts(queries: Mapping[str, Any], within: int = 20) -> Iterator[str]:
    """CESAR: the paper's Filter."""
    for steps, primary in _steps(queries, ("S1.", "S2.", "S3.")):
        yield FILTER.format(*steps, within, primary)


def _steps(queries: Mapping[str, Any], names: Sequence[str]) -> Iterator[tuple[list[str], str]]:
    """The conditions of each step, and the one that all steps have: `pa`, `pv`; `sa`, `sv`; `c`, `r` and `sel`."""
    pa, pv, sa, sv, columns, ranges = (queries[key].tolist() for key in ("pa", "pv", "sa", "sv", "c", "r"))
    selectivity = queries["sel"]
    for number in range(len(pa)):
        primary = f"d{pa[number]} = {pv[number]}"
        steps = []
        for step, name in enumerate(names):
            conditions = [f"{name}{primary}", f"{name}d{sa[number][step]} = {sv[number][step]}"]
            for column, place in sorted(zip(columns[number][step], ranges[number][step], strict=True)):
                low = place / 25 * (1 - selectivity)
                conditions += [f"{name}c{column} >= {low:.4f}", f"{name}c{column} < {low + selectivity:.4f}"]
            steps.append(" AND ".join(conditions))
        yield steps, primary


def measure(texts: Sequence[str]) -> dict[str, float]:
    """Seconds of CPU time to cut and to read texts, and what they consist of."""
    begin = time.process_time()
    found = cut(texts)
    middle = time.process_time()
    framed = frames_of(found)
    return {
        "cut": middle - begin,
        "read": time.process_time() - middle,
        "skeletons": len(found.skeletons),
        "frames": len(framed.frames),
        "conditions": len(framed.conjuncts),
    }


def measure_queries(texts: Sequence[str], events: pa.Table) -> dict[str, float]:
    """Seconds of CPU time until texts are queries, and until these have gone over events for the first time."""
    begin = time.process_time()
    queries = Queries(texts)
    middle = time.process_time()
    found = queries.match(events)
    return {"build": middle - begin, "first_match": time.process_time() - middle, "matches": len(found)}
