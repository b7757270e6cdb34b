"""The Spark settings that queries need or run faster with. None changes a result, and none replaces the user's own."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, MutableMapping
from typing import TypeVar

from pyspark import SparkConf
from pyspark.sql import SparkSession

from cepheid.errors import UsageError

_Target = TypeVar("_Target", SparkSession.Builder, SparkConf, MutableMapping[str, str])

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_STATE = "spark.sql.streaming.stateStore"

# Many workers share a machine, and they are forked: libraries must not start threads.
_SINGLE_THREADED = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def settings(*, preload: bool = False) -> dict[str, str]:
    """Return the settings by name, for a configuration file or `spark-submit --conf`."""
    wanted = {
        f"{_STATE}.providerClass": ROCKSDB,
        f"{_STATE}.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        **{f"spark.executorEnv.{name}": "1" for name in _SINGLE_THREADED},
    }
    if preload:
        wanted["spark.python.daemon.module"] = "cepheid.spark.daemon"
        # Importing pyarrow would start one thread, of an allocator that it does not use.
        wanted["spark.executorEnv.JE_ARROW_MALLOC_CONF"] = "background_thread:false"
    return wanted


def configure(builder: _Target, *, preload: bool = False) -> _Target:
    """Add the settings to the builder of a session, a SparkConf or a dict, unless they are set there already.

    preload: fork workers from a process that has loaded the engine and its compiler, so that the first batch of a
    worker need not wait for them. cepheid must be installed where the workers run.

    On a local master the workers run the Python of this process, by the environment variable PYSPARK_PYTHON. On a
    cluster the path of Python is not known here: set spark.pyspark.python, or PYSPARK_PYTHON.

    >>> configure({"spark.sql.execution.arrow.maxRecordsPerBatch": "1000"})[
    ...     "spark.sql.execution.arrow.maxRecordsPerBatch"
    ... ]
    '1000'
    """
    known = dict(_known(builder))
    is_remote = (known.get("spark.remote") or os.environ.get("SPARK_REMOTE", "")).startswith("sc:")
    if is_remote and preload:
        message = "preload=True is a setting of the Spark Connect server, and a client cannot change it"
        remedy = "start the server with the settings of cepheid.spark.configure({}, preload=True)"
        raise UsageError("CEP907", message, remedy)
    wanted = settings(preload=preload)
    if _is_local(known):  # Spark's default of 200 is for clusters: in a stream each partition has a state store
        wanted["spark.sql.shuffle.partitions"] = str(_cores(known))
    for name, value in wanted.items():
        if name in known or (is_remote and not name.startswith("spark.sql.")):
            continue
        if isinstance(builder, SparkConf):
            builder.set(name, value)
        elif isinstance(builder, MutableMapping):
            builder[name] = value
        else:
            builder.config(name, value)
    if _is_local(known):
        os.environ.setdefault("PYSPARK_PYTHON", known.get("spark.pyspark.python", sys.executable))
    return builder


def _known(builder: object) -> Iterable[tuple[str, str]]:
    if isinstance(builder, SparkConf):
        return builder.getAll()
    if isinstance(builder, MutableMapping):
        return list(builder.items())
    options: dict[str, str] = getattr(builder, "_options", {})
    return list(options.items())


def _cores(known: dict[str, str]) -> int:
    """Return how many tasks a local master runs at the same time."""
    number = re.match(r"local\[(\d+)", known.get("spark.master") or "")
    return max(2, int(number[1]) if number else os.cpu_count() or 2)


def _is_local(known: dict[str, str]) -> bool:
    """Tell whether workers run on this machine. Under spark-submit the master is not known here."""
    master = known.get("spark.master") or known.get("spark.remote") or os.environ.get("SPARK_REMOTE")
    if master is None:
        return "PYSPARK_GATEWAY_PORT" not in os.environ and "--master" not in os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    return master.startswith("local")
