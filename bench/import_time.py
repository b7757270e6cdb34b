"""How much longer `import cepheid` takes than `import pyarrow`: the medians of runs that take turns, in CPU seconds.

As an installed package has it, the bytecode of all modules is there before the first run that counts.

python bench/import_time.py [RUNS]
"""

import os
import resource
import subprocess
import sys
import tempfile
from statistics import median

TARGET = 0.3  # s


def seconds(statement: str, bytecode: str) -> float:
    """The CPU time of a fresh interpreter, from start to end."""
    environment = os.environ | {"PYTHONPYCACHEPREFIX": bytecode, "PYTHONDONTWRITEBYTECODE": ""}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", statement], check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print both medians, and whether their difference is within the target."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    statements = "import pyarrow", "import cepheid"
    with tempfile.TemporaryDirectory(prefix="cepheid-bench-") as bytecode:
        for statement in statements:
            seconds(statement, bytecode)
        found = [[seconds(statement, bytecode) for statement in statements] for _ in range(runs)]
    arrow, ours = (median(column) for column in zip(*found, strict=True))
    print(f"import pyarrow {arrow:.3f} s, import cepheid {ours:.3f} s of CPU, {runs} runs")
    print(f"difference {ours - arrow:.3f} s, wanted ≤ {TARGET}: {'met' if ours - arrow <= TARGET else 'not met'}")


if __name__ == "__main__":
    main()
