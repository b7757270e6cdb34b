"""How much longer `import cepheid` takes than `import pyarrow`: the medians of runs that take turns.

python bench/import_time.py [RUNS]
"""

import subprocess
import sys
import time
from statistics import median


def seconds(statement: str) -> float:
    """A fresh interpreter, from start to end."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - begin


def main() -> None:
    """Print both medians and their difference."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    pairs = [(seconds("import pyarrow"), seconds("import cepheid")) for _ in range(runs)]
    arrow, ours = (median(column) for column in zip(*pairs, strict=True))
    line = f"import pyarrow {arrow:.3f} s, import cepheid {ours:.3f} s, difference {ours - arrow:.3f} s, {runs} runs"
    print(line)


if __name__ == "__main__":
    main()
