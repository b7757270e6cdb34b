"""W3 on a number of cores.

python -m bench.spark.probe CORES EVENTS ROUNDS DATA MEMORY
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from bench import queries
from bench.spark import data
from bench.spark.clock import race
from bench.spark.options import Options
from bench.spark.session import session
from cepheid import Query

# There are sixteen matches for each event: three numbers of each, instead of three events, keep the clock on the
# matching.
QUERY = f"{queries.W3['last']} RETURN a.ts AS a, b.ts AS b, c.ts AS c"


def main() -> None:
    """Print what was measured as JSON."""
    cores, events, rounds = map(int, sys.argv[1:4])
    options = Options(data=Path(sys.argv[4]), memory=sys.argv[5])
    query = Query(QUERY)
    path = data.rare(options, events)
    with session(options, cores) as spark:
        frame = spark.read.parquet(str(path))
        spent = race({"ours": lambda: query.match(frame).count()}, rounds)["ours"]
    print(json.dumps({"events": events, "matches": spent.found, "wall": spent.wall, "cpu": spent.cpu}))


if __name__ == "__main__":
    main()
