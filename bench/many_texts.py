"""The queries of Cayuga's technical benchmark as texts: its five templates, and a sequence in SASE+.

LinearStat, LinearDyn and Filter are CESAR. NonDeterministic and NonDeterministicAgg are SASE+ with skip_till_any_match,
which has the same matches: all sequences of three events that satisfy the conditions in time.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.cayuga import DURATION, Workload

NAMES = ("S1", "S2", "S3")
SASE = "SASE+"
LINEAR = "SELECT[{2}](SELECT[{1}](SELECT[{0}](S1) ;[TRUE] S2) ;[TRUE] S3)"
FILTER = "SELECT[{2}](SELECT[{1}](SELECT[{0}](S1) ;[S2.{3}] S2) ;[S3.{3}] S3)"
EXPRESSIONS = {"LinearStat": LINEAR, "LinearDyn": LINEAR, "Filter": FILTER}
RISES = " AND {0}.c0 > 1.01 * {1}.c0"
STRATEGIES = {SASE: "skip_till_next_match", "NonDet": "skip_till_any_match", "NonDetAgg": "skip_till_any_match"}
SEQUENCE = "PATTERN SEQ(Event S1, Event S2, Event S3)\nWHERE {0} {{ {1} }}\nWITHIN {2} ms"
SUM = " + ".join(f"({' + '.join(f'{name}.c{k}' for k in range(4))})" for name in NAMES)
ITERATED = "SELECT[{2}](ITERATE[ID, S3.{3}](SELECT[{1}](ITERATE[ID, S2.{3}](SELECT[{0}](S1), S2)), S3))"
"""NonDeterministic as the paper prints it, by μ."""


def texts(queries: Workload, template: str) -> Iterator[str]:
    """Queries as texts of a template."""
    for primary, steps in queries.steps():
        asked = [" AND ".join(f"{name}.{one}" for one in asks) for name, asks in zip(NAMES, steps, strict=True)]
        if template in STRATEGIES:
            # A match must be shorter than WITHIN, and DUR is one more than what its ends are apart.
            text = SEQUENCE.format(STRATEGIES[template], " AND ".join(asked), DURATION)
            yield f"{text}\nRETURN {SUM} AS total" if template == "NonDetAgg" else text
            continue
        if template == "LinearDyn":
            asked[1] += RISES.format("S2", "S1")
            asked[2] += RISES.format("S3", "S2")
        expression = ITERATED if template == "μ" else EXPRESSIONS[template]
        yield f"CESAR LET S1, S2, S3 := Event\n{expression.format(*asked, f'{primary} AND DUR <= {DURATION}')}"
