"""Spark sessions for the bench, stopped at the end of a row."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from bench.spark.options import Options
from cepheid.spark.settings import configure

PARTITIONS = 8  # of every shuffle: of ours, of the identity, and of what a Spark user writes


@contextmanager
def session(options: Options, cores: int = 2, **settings: str) -> Iterator[SparkSession]:
    """A local session with the settings that our paths want; it's as good for the others."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Workers import functions of the bench by name.
    root = str(Path(__file__).parents[2])
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    builder = configure(SparkSession.builder.master(f"local[{cores}]").appName("bench"))
    fixed = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": options.memory,
        "spark.sql.shuffle.partitions": str(PARTITIONS),
        "spark.local.dir": str(options.data / "local"),
    }
    for name, value in {**fixed, **settings}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield spark
    finally:
        spark.stop()
