"""What a query needs, validated before it starts: Spark would fail later, with a less helpful error, or not at all."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import lru_cache
from importlib.util import find_spec

from pyspark.sql import DataFrame
from pyspark.sql import types as st

from cepheid.errors import InputError, UsageError
from cepheid.spark.introspect import spark_context

WATERMARK = "spark.watermarkDelayMs"
"""The metadata that Spark adds to the column with the watermark."""
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
REQUIRED = ("pandas", "pyarrow")
OF_STREAMS = ("google.protobuf",)


def check_stream(df: DataFrame, time: str) -> None:
    """Raise an error for whatever would keep the stream from running. No job runs."""
    check_time(df.schema, time)
    check_store(str(df.sparkSession.conf.get(PROVIDER, "")))
    for module in (*REQUIRED, *OF_STREAMS):
        if not _is_installed(module):
            raise _missing(f"{module.removeprefix('google.')} is not installed")
    check_workers(df, (*REQUIRED, *OF_STREAMS))


def check_time(schema: st.StructType, time: str) -> None:
    """Check that the query's time column is a timestamp with a watermark."""
    column = schema[time]
    if not isinstance(column.dataType, st.TimestampType | st.TimestampNTZType):
        kind = column.dataType.simpleString()
        message = f"the time column of a stream must be a timestamp, and '{time}' is {kind}"
        remedy = f"cast it: df.withColumn('{time}', timestamp_millis('{time}')), or df['{time}'].cast('timestamp')"
        raise InputError("CEP902", message, remedy)
    if WATERMARK in column.metadata:
        return
    others = [field.name for field in schema if WATERMARK in field.metadata]
    message = f"the stream has no watermark on its time column '{time}'"
    if others:
        message += f", but on '{others[0]}'"
    raise InputError("CEP901", message, f"say how late events may arrive: df.withWatermark('{time}', '10 seconds')")


def check_store(provider: str) -> None:
    """Check that the state store is RocksDB: Spark's stateful operator supports no other."""
    if provider.endswith("RocksDBStateStoreProvider"):
        return
    message = f"a stream needs the RocksDB state store, and {PROVIDER} is {provider.rsplit('.', 1)[-1] or 'not set'}"
    remedy = "start the session with cep.spark.configure(SparkSession.builder), or set it to "
    remedy += "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    raise UsageError("CEP903", message, remedy)


def check_workers(df: DataFrame, required: tuple[str, ...] = REQUIRED) -> None:
    """Check that the Python of workers on this machine, which may be another one, has the packages that they need."""
    context = spark_context(df)
    if context is None or not str(context.master).startswith("local"):  # the workers of a cluster can't be checked here
        return
    python = str(context.pythonExec)
    modules = required if context._python_includes else (*required, "cepheid")
    problem = _import_problem(python, modules, os.environ.get("PYTHONPATH", ""))
    if problem:
        raise _missing(f"Spark's Python workers run '{python}': {problem}")


@lru_cache
def _import_problem(python: str, modules: tuple[str, ...], path: str) -> str:
    """Return the error of a Python that cannot import some modules or is of another version; else an empty string.

    path: the PYTHONPATH, on which the answer depends.
    """
    command_path = shutil.which(python)
    if command_path is None:
        return "there is no such command"
    same_folder = os.path.dirname(command_path) == os.path.dirname(sys.executable)
    if os.path.samefile(command_path, sys.executable) and same_folder:
        return ""
    version = sys.version_info[:2]
    other = f"it is Python %d.%d, and the driver runs {version[0]}.{version[1]}"
    test = f"import sys; own = sys.version_info[:2]; own == {version} or sys.exit({other!r} % own)"
    command = [command_path, "-c", f"{test}; import {', '.join(modules)}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    last_line = done.stderr.strip().rsplit("\n", 1)[-1]
    return (last_line or f"it exits with code {done.returncode}") if done.returncode else ""


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package that contains it is missing
        return False


def _missing(what: str) -> UsageError:
    remedy = "pip install 'cepheid[spark]' where the workers run, and set PYSPARK_PYTHON to that Python "
    remedy += f"before the session starts, such as {sys.executable}"
    return UsageError("CEP904", what, remedy)
