"""The process that Spark forks its Python workers from, with the engine and its compiler already loaded.

`configure(builder, preload=True)` sets `spark.python.daemon.module` to this module. Nothing here may start a thread: a
fork copies only the thread that forks, and locks that other threads hold are never released in the copy.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from contextlib import redirect_stdout


def preload() -> None:
    """Load what a worker would load before its first batch. Packages that are missing are skipped."""
    from cepheid.kernel.compile import has_compiler, warm

    ours = "cepheid.spark", "cepheid.engine.machines.factory"
    for name in ("pyarrow.compute", "pyarrow.parquet", "pandas", "pyspark.worker", *ours):
        if importlib.util.find_spec(name.partition(".")[0]) is not None:
            importlib.import_module(name)
    if has_compiler():
        warm()


if __name__ == "__main__":
    from pyspark.daemon import manager

    with redirect_stdout(sys.stderr):  # Spark reads a port number from stdout
        preload()
    manager()
