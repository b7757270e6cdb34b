"""Run the bench on Spark: a table, and the same as JSON.

python -m bench.spark                   all rows
python -m bench.spark keyed --quick     some rows, on a tenth of the events
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from rich.console import Console

from bench import report
from bench.harness import Figure
from bench.spark.options import Options
from bench.spark.paper import paper
from bench.spark.rows import ROWS

_HERE = Path(__file__).parent


def main() -> None:
    """Run the rows that are asked for."""
    known = "\n".join(f"  {name:8} {(run.__doc__ or '').splitlines()[0]}" for name, run in ROWS.items())
    parser = argparse.ArgumentParser(
        prog="python -m bench.spark",
        description=f"{__doc__}\nrows:\n{known}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", help="which rows; all if none is named")
    parser.add_argument("--quick", action="store_true", help="a tenth of the events, two rounds")
    parser.add_argument("--scale", type=float, help="of the streams; 1, or 0.1 if quick")
    parser.add_argument("--rounds", type=int, default=3, help="how often each contestant runs; the best counts")
    parser.add_argument("--data", type=Path, default=Options.data, help="where the streams are kept as Parquet")
    parser.add_argument("--memory", default=Options.memory, help="of the JVM")
    parser.add_argument("--json", type=Path, default=_HERE / "results.json", help="where the figures go")
    parser.add_argument("--markdown", type=Path, help="where the figures go as a page")
    args = parser.parse_args()
    for name in args.rows:
        if name not in ROWS:
            parser.error(f"no row {name!r}; there are {', '.join(ROWS)}")

    scale = args.scale or (0.1 if args.quick else 1.0)
    options = Options(args.quick, scale, args.rounds, args.data.resolve(), args.memory)
    options.data.mkdir(parents=True, exist_ok=True)
    console = Console()
    if not console.is_terminal:
        console.width = 140
    figures: list[Figure] = []
    for name in args.rows or ROWS:
        begin = time.perf_counter()
        with console.status(name):
            figures += ROWS[name](options)
        console.log(f"{name}: {time.perf_counter() - begin:.0f} s")
        report.write(figures, args.json)  # what there is, should a later row fail
    figures += list(paper(figures))
    report.show(figures, console)
    report.write(figures, args.json)
    if args.markdown:
        report.write_markdown(figures, args.markdown, " ".join(["python -m bench.spark", *sys.argv[1:]]))
    console.print(f"written to {args.json}")


if __name__ == "__main__":
    main()
