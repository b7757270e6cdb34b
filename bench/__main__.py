"""Run the bench: a table, and the same as JSON.

python -m bench                         all rows but the long ones
python -m bench stock kleene --quick    some rows, on a tenth of the events
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from pathlib import Path

from rich.console import Console

from bench import report
from bench.harness import Figure, Options
from bench.rows import ALIASES, LONG, ROWS

_HERE = Path(__file__).parent


def main() -> None:
    """Run the rows that are asked for."""
    known = "\n".join(f"  {name:12} {(run.__doc__ or '').splitlines()[0]}" for name, run in ROWS.items())
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=f"{__doc__}\nrows:\n{known}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", help="which rows; all but the long ones if none is named")
    parser.add_argument("--quick", action="store_true", help="a tenth of the events, three rounds")
    parser.add_argument("--rounds", type=int, default=9, help="how often each contestant runs; the best counts")
    parser.add_argument("--json", type=Path, default=_HERE / "results.json", help="where the figures go")
    parser.add_argument("--markdown", type=Path, help="where the figures go as a page")
    parser.add_argument("--plots", type=Path, help="a directory for the plots; needs matplotlib")
    of_cold = parser.add_argument_group("row cold")
    of_cold.add_argument("--timeout", type=float, default=Options.timeout, help="seconds that plain Python may take")
    of_cold.add_argument("--most", type=int, default=Options.most, help="events of the largest streams")
    of_cold.add_argument(
        "--only", default=Options.only, help="the queries with this in their names; of row many the cases"
    )
    args = parser.parse_args()
    rows = [ALIASES.get(name, name) for name in args.rows]
    for name in rows:
        if name not in ROWS:
            parser.error(f"no row {name!r}; there are {', '.join(ROWS)}")

    options = Options(args.quick, args.rounds, args.plots, args.timeout, args.most, args.only)
    console = Console()
    if not console.is_terminal:
        console.width = 140
    figures: list[Figure] = []
    for name in rows or [name for name in ROWS if name not in LONG]:
        begin = time.perf_counter()
        with console.status(name):
            for figure in ROWS[name](options):
                figures.append(figure)
                if name in LONG:  # one sees how far it is, and what it found if it does not end
                    console.log(report.line(figure), highlight=False, markup=False)
                    report.write(figures, args.json)
        console.log(f"{name}: {time.perf_counter() - begin:.0f} s")
        report.write(figures, args.json)  # what there is, should a later row fail
    report.show(figures, console)
    report.write(figures, args.json)
    if args.markdown:
        report.write_markdown(figures, args.markdown, f"python -m bench {shlex.join(sys.argv[1:])}")
    console.print(f"written to {args.json}")


if __name__ == "__main__":
    main()
