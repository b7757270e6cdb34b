"""Settings of Spark that the queries want. None changes an answer, and what the user has set stays."""

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

# A worker is one of many on its machine, and is forked: libraries must not start threads of their own.
_SINGLE = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def settings(*, preload: bool = False) -> dict[str, str]:
    """The settings as names and values, for a configuration file or `spark-submit --conf`."""
    found = {
        f"{_STATE}.providerClass": ROCKSDB,
        f"{_STATE}.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        **{f"spark.executorEnv.{name}": "1" for name in _SINGLE},
    }
    if preload:
        found["spark.python.daemon.module"] = "cepheid.spark.daemon"
        # The one thread that pyarrow starts when it is imported, in an allocator that it does not use.
        found["spark.executorEnv.JE_ARROW_MALLOC_CONF"] = "background_thread:false"
    return found


def configure(builder: _Target, *, preload: bool = False) -> _Target:
    """The builder of a session, a SparkConf or a dict with the settings that queries want.

    preload: workers are forked from a process that has loaded the engine and its compiled kernels, so that the first
    batch of each costs no more than the next. cepheid must be installed where the workers run.

    On a local master workers get the Python of this process, by the environment variable PYSPARK_PYTHON. On a cluster
    it is not known here where Python is: set spark.pyspark.python, or PYSPARK_PYTHON.

    >>> configure({"spark.sql.execution.arrow.maxRecordsPerBatch": "1000"})[
    ...     "spark.sql.execution.arrow.maxRecordsPerBatch"
    ... ]
    '1000'
    """
    known = dict(_known(builder))
    far = (known.get("spark.remote") or os.environ.get("SPARK_REMOTE", "")).startswith("sc:")
    if far and preload:
        message = "what workers are forked from is decided where the Spark Connect server is started"
        remedy = "start the server with the settings of cepheid.spark.configure({}, preload=True)"
        raise UsageError("CEP907", message, remedy)
    wanted = settings(preload=preload)
    if _is_local(known):  # Spark's 200 are for clusters, and each has a store of its own in a stream
        wanted["spark.sql.shuffle.partitions"] = str(_cores(known))
    for name, value in wanted.items():
        if name in known or (far and not name.startswith("spark.sql.")):
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
    """How many tasks a local master runs at once."""
    found = re.match(r"local\[(\d+)", known.get("spark.master") or "")
    return max(2, int(found[1]) if found else os.cpu_count() or 2)


def _is_local(known: dict[str, str]) -> bool:
    """Whether workers run on this machine. Started by spark-submit, the master is not known here."""
    master = known.get("spark.master") or known.get("spark.remote") or os.environ.get("SPARK_REMOTE")
    if master is None:
        return "PYSPARK_GATEWAY_PORT" not in os.environ and "--master" not in os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    return master.startswith("local")
