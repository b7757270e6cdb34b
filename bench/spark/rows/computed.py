"""Pushdown of conditions that Spark computes: a CAST, a time, a regular expression; on, and left to the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from unittest import mock

from pyspark.sql import DataFrame

from bench.harness import Figure, throughput
from bench.spark import data
from bench.spark.cases import Case
from bench.spark.clock import race, same
from bench.spark.options import Options
from bench.spark.session import session
from cepheid.pattern.expressions import nodes as ex
from cepheid.spark.pushdown.computed import Computed
from cepheid.spark.pushdown.predicate import NotPushable
from cepheid.spark.pushdown.values import Values

EVENTS = 10_000_000
CONDITIONS = {  # each holds for one event in ten
    "CAST of a text to INT": "CAST({0}.code AS INT) >= 90",
    "RLIKE": "{0}.text RLIKE '^err'",
    "part of a time": "minute({0}.began) < 6",
    "difference of times": "{0}.ended - {0}.began > INTERVAL '54' MINUTE",
}


def computed(options: Options) -> Iterator[Figure]:
    """W2 with a computed condition on each event, pushed down and left to the engine."""
    events = options.sized(EVENTS)
    with session(options) as spark:
        for name, condition in CONDITIONS.items():
            conditions = " AND ".join(condition.format(variable) for variable in "abc")
            query = (
                f"PATTERN SEQ(E1 a, E2 b, E3 c) WHERE [attr1] AND {conditions} WITHIN 10000 milliseconds "
                "RETURN a.attr1 AS attr1, a.ts AS a, b.ts AS b, c.ts AS c"
            )
            case = Case(name, query, data.logged, "attr1", ())
            frame = case.read(spark, options, events)

            def count(case: Case = case, frame: DataFrame = frame) -> int:
                return case.ours(frame, direct=False).count()

            def count_without(count: Callable[[], int] = count) -> int:
                with mock.patch.object(Values, "value", _refuse), mock.patch.object(Values, "micros", _refuse):
                    return count()

            spent = race({"on": count, "off": count_without}, options.times)
            matches, ours, rival = same(spent), spent["on"], spent["off"]
            yield Figure(
                "computed",
                name,
                "JVM scan",
                throughput(events, ours.wall),
                "M events/s",
                "left to the engine",
                throughput(events, rival.wall),
                rival.wall / ours.wall,
                None,
                f"{events:,} events, {matches:,} matches; {ours.cpu:.1f} CPU-s against {rival.cpu:.1f}",
            )


def _refuse(values: Values, node: ex.Expression) -> Computed:
    raise NotPushable("computed")
