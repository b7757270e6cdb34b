"""Warns on the driver of retractions without an event in any task of a batch."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from pyspark import SparkContext

from cepheid.errors import CepheidWarning, Place, calling_place
from cepheid.spark.introspect import spark_context
from cepheid.spark.job import Job
from cepheid.spark.reports import Channel, Report, TaskReport, open_channel


class _UnmetListener:
    """On the driver: warns when all tasks of a stage have reported how many there are."""

    def __init__(self, job: Job, context: SparkContext, place: Place) -> None:
        self.surprises = job.query.surprises
        self.context = context
        self.place = place
        self.unmet: Counter[int] = Counter()
        self.reported: Counter[int] = Counter()

    def __call__(self, report: Report) -> None:
        self.unmet[report.stage] += report.seen.unmet
        self.reported[report.stage] += 1
        stage = self.context.statusTracker().getStageInfo(report.stage)
        if stage is None or self.reported[report.stage] < stage.numTasks:
            return
        del self.reported[report.stage]
        try:
            self.surprises.warn(self.surprises.of_retractions(self.unmet.pop(report.stage)), self.place)
        except CepheidWarning as warning:  # a filter makes it an error, which would end Spark's thread
            logging.getLogger("cepheid").warning("%s", warning)


@dataclass(frozen=True)
class _Teller:
    channel: Channel

    def __call__(self, unmet: int) -> None:
        self.channel.send(TaskReport(unmet=unmet))


def unmet_report(job: Job) -> Callable[[int], None] | None:
    """Return what a task calls with the number of its unmet retractions; None if there is nothing to report."""
    context = spark_context(job.df)
    if context is None or job.options.op is None:
        return None
    return _Teller(open_channel(context, _UnmetListener(job, context, calling_place())))
