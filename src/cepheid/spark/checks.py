"""What a stream needs, looked at before it starts: Spark would tell it late, in other words, or not at all."""

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
from cepheid.spark.introspect import context

WATERMARK = "spark.watermarkDelayMs"
"""What Spark writes beside the column on which there is a watermark."""
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
NEEDED = ("pandas", "pyarrow", "google.protobuf")


def check_stream(df: DataFrame, time: str) -> None:
    """Raise what would go wrong; nothing runs."""
    check_time(df.schema, time)
    check_store(str(df.sparkSession.conf.get(PROVIDER, "")))
    for module in NEEDED:
        if not _is_there(module):
            raise _missing(f"{module.removeprefix('google.')} is not installed")
    check_workers(df)


def check_time(schema: st.StructType, time: str) -> None:
    """A stream goes by its watermark, on the query's time column."""
    column = schema[time]
    if not isinstance(column.dataType, st.TimestampType | st.TimestampNTZType):
        message = f"the time of a stream must be a timestamp, and '{time}' is {column.dataType.simpleString()}"
        remedy = f"cast it: df.withColumn('{time}', timestamp_millis('{time}')), or df['{time}'].cast('timestamp')"
        raise InputError("CEP902", message, remedy)
    if WATERMARK in column.metadata:
        return
    others = [field.name for field in schema if WATERMARK in field.metadata]
    message = f"the stream has no watermark on its time column '{time}'"
    if others:
        message += f", it has one on '{others[0]}'"
    raise InputError("CEP901", message, f"say how late events may come: df.withWatermark('{time}', '10 seconds')")


def check_store(provider: str) -> None:
    """Spark's stateful operator has its state in RocksDB."""
    if provider.endswith("RocksDBStateStoreProvider"):
        return
    message = f"the state of a stream must be in RocksDB, and {PROVIDER} is {provider.rsplit('.', 1)[-1] or 'not set'}"
    remedy = "start the session with cep.spark.configure(SparkSession.builder), or set it to "
    remedy += "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    raise UsageError("CEP903", message, remedy)


def check_workers(df: DataFrame) -> None:
    """Workers on this machine start a Python of their own choice, which may not be this one."""
    found = context(df)
    if found is None or not str(found.master).startswith("local"):  # workers elsewhere can't be looked at from here
        return
    python = str(found.pythonExec)
    modules = NEEDED if found._python_includes else (*NEEDED, "cepheid")
    said = _cannot_import(python, modules, os.environ.get("PYTHONPATH", ""))
    if said:
        raise _missing(f"Spark's Python workers run '{python}': {said}")


@lru_cache
def _cannot_import(python: str, modules: tuple[str, ...], path: str) -> str:
    """What a Python says when it can't import some modules; which it can, depends on its path too."""
    found = shutil.which(python)
    if found is None:
        return "there is no such command"
    if os.path.samefile(found, sys.executable) and os.path.dirname(found) == os.path.dirname(sys.executable):
        return ""
    command = [found, "-c", f"import {', '.join(modules)}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    said = done.stderr.strip().rsplit("\n", 1)[-1]
    return (said or f"it ends with {done.returncode}") if done.returncode else ""


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of the package that it is in
        return False


def _missing(what: str) -> UsageError:
    remedy = "pip install 'cepheid[spark]' where the workers run, and set PYSPARK_PYTHON to that Python "
    remedy += f"before the session starts, such as {sys.executable}"
    return UsageError("CEP904", what, remedy)
