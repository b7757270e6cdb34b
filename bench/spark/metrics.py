"""Bytes that Spark's own counters tell: of shuffles by its stages, of the way to Python by its plans."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from pyspark.sql import SparkSession

_UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def shuffled(spark: SparkSession, since: int) -> int:
    """Bytes that the stages from a number on wrote for a shuffle."""
    return sum(stage.shuffleWriteBytes() for stage in _stages(spark) if stage.stageId() >= since)


def stages(spark: SparkSession) -> int:
    """The number that the next stage will have, at most."""
    return 1 + max((stage.stageId() for stage in _stages(spark)), default=-1)


def plans(spark: SparkSession) -> int:
    """The number that the next plan will have, at most."""
    return 1 + max((plan.executionId() for plan in _executions(spark)), default=-1)


def planned(spark: SparkSession, since: int) -> Counter[str]:
    """Sizes that the plans from a number on tell, by the name of the metric, as "data sent to Python workers"."""
    store = spark._jsparkSession.sharedState().statusStore()  # type: ignore[attr-defined]
    told: Counter[str] = Counter()
    for plan in _executions(spark):
        if plan.executionId() < since:
            continue
        values = store.executionMetrics(plan.executionId())
        # A plan that is adapted while it runs lists what it counts again and again.
        sizes = {one.accumulatorId(): one.name() for one in _listed(plan.metrics()) if one.metricType() == "size"}
        for number, name in sizes.items():
            value = values.get(number)
            if value.isDefined():
                told[name] += _bytes(value.get())
    return told


def _bytes(text: str) -> int:
    """Of "3.1 MiB", or of "total (min, med, max …)" and then, on the next line, the numbers."""
    found = re.search(r"([\d.,]+) (B|[KMGT]iB)", text)
    return 0 if found is None else round(float(found[1].replace(",", "")) * _UNITS[found[2]])


def _stages(spark: SparkSession) -> list[Any]:
    context = spark.sparkContext
    nothing = context._gateway.new_array(context._jvm.double, 0)  # type: ignore[union-attr]
    empty = context._jvm.java.util.ArrayList()  # type: ignore[union-attr]
    return _listed(context._jsc.sc().statusStore().stageList(None, False, False, nothing, empty))


def _executions(spark: SparkSession) -> list[Any]:
    return _listed(spark._jsparkSession.sharedState().statusStore().executionsList())  # type: ignore[attr-defined]


def _listed(sequence: Any) -> list[Any]:
    return [sequence.apply(at) for at in range(sequence.size())]
