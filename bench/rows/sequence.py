"""W2: three events in sequence that agree on an attribute (SASE, SIGMOD'06, section 5)."""

from __future__ import annotations

from collections.abc import Iterator

from bench import native, queries
from bench.cache import stream
from bench.harness import Figure, Options, Target
from bench.rows.side_by_side import side_by_side

MATCHES = {100: 618_220, 1_000: 6_223, 10_000: 75}

# Million events per CPU second of Esper, the fastest of the three engines that were measured beside the prototypes of
# the kernel; Flink CEP does 0.027, 0.123 and 0.240, CORE 0.23 to 0.38. They are not run here.
ESPER = {100: 0.55, 1_000: 1.2, 10_000: 1.1}


def sequence(options: Options) -> Iterator[Figure]:
    """W2: a sequence by key, at 100 to 10,000 keys, against C++."""
    for domain, matches in MATCHES.items():
        table = stream(f"typed_v{domain}", scale=options.scale)
        loop = native.w2(table, queries.W2_WINDOW)
        found = loop.find()
        assert options.quick or found == matches, f"sequence {domain}: {found:,} matches, not {matches:,}"
        for figure in side_by_side(
            "sequence", f"{domain:,} keys", queries.typed(), table, loop, options, plan="stacks"
        ):
            yield figure
            if figure.clock == "end to end":
                speed, esper = figure.value, ESPER[domain]
                yield Figure(
                    "sequence",
                    figure.case,
                    figure.clock,
                    speed,
                    figure.unit,
                    "Esper",
                    esper,
                    speed / esper,
                    Target("≥", 50),
                )
