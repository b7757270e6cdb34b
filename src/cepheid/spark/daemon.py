"""The process that Spark forks its Python workers from, with the engine and its kernels loaded.

`spark.python.daemon.module` names it, `configure(builder, preload=True)` sets it. Nothing here may start a thread: a
fork copies only the one that forks, and whatever another one had locked stays locked.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from contextlib import redirect_stdout


def preload() -> None:
    """Load what a worker would load before its first batch. What is missing is missed when it is needed."""
    from cepheid.kernel.load import has_numba, warm

    for name in ("pyarrow.compute", "pyarrow.parquet", "pandas", "pyspark.worker", "cepheid.spark"):
        if importlib.util.find_spec(name.partition(".")[0]) is not None:
            importlib.import_module(name)
    if has_numba():
        warm()


if __name__ == "__main__":
    from pyspark.daemon import manager

    with redirect_stdout(sys.stderr):  # on stdout Spark waits for the number of a port
        preload()
    manager()
