"""This tree against another commit, side by side: what a user waits for.

    python -m bench.against abf7b6c
    python -m bench.against abf7b6c --only W2 push --rounds 20

Each row runs in two processes, one with `src/` of this tree and one with that of the commit. They take turns, and the
best round of each counts, in CPU seconds of the process and all that it has started. Both must have as many matches.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO

from bench.against_rows import ROWS
from bench.cache import DIRECTORY

ROOT = Path(__file__).parents[1]
LEAST = 0.95
"""The other tree's seconds over ours: no row may be below."""


@dataclass
class Side:
    """A process that runs one row with the sources of one tree, round by round."""

    process: subprocess.Popen[str]
    best: float = float("inf")
    matches: int = -1

    @classmethod
    def start(cls, row: str, sources: Path, *, quick: bool) -> Side:
        """Return when the row is prepared: events read, kernels compiled, Spark started."""
        path = os.pathsep.join(map(str, (ROOT, sources)))
        command = [sys.executable, "-m", "bench.against_rows", row, str(sources), *(["--quick"] if quick else [])]
        kernels = sources.parent / "bench" / ".cache" / "kernels"
        environment = os.environ | {"PYTHONPATH": path, "CEPHEID_CACHE": str(kernels)}
        pipe = subprocess.PIPE
        side = cls(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment, cwd=ROOT))
        side._reply()
        return side

    def run(self) -> None:
        """One round."""
        _pipe(self.process.stdin).write("run\n")
        _pipe(self.process.stdin).flush()
        reply = self._reply()
        self.best = min(self.best, reply["seconds"])
        self.matches = reply["matches"]

    def end(self) -> None:
        _pipe(self.process.stdin).close()
        self.process.wait()

    def _reply(self) -> dict[str, float]:
        line = _pipe(self.process.stdout).readline()
        if not line:
            raise SystemExit(f"the process ended with {self.process.wait()}: {self.process.args}")
        reply: dict[str, float] = json.loads(line)
        return reply


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


def checkout(revision: str) -> Path:
    """The sources of a commit, kept beside the bench."""
    commit = subprocess.check_output(["git", "rev-parse", f"{revision}^{{commit}}"], cwd=ROOT, text=True).strip()
    place = DIRECTORY / f"tree-{commit[:12]}"
    if not place.exists():
        packed = subprocess.check_output(["git", "archive", commit, "src"], cwd=ROOT)
        draft = place.with_suffix(f".{os.getpid()}")
        with tarfile.open(fileobj=BytesIO(packed)) as archive:
            archive.extractall(draft, filter="data")
        draft.replace(place)
    return place / "src"


def compare(row: str, trees: Sequence[Path], rounds: int, *, quick: bool) -> float:
    """The ratio of a row, printed as a line of a table."""
    sides = [Side.start(row, tree, quick=quick) for tree in trees]  # one after the other: both read the same files
    for turn in range(rounds):
        for side in sides if turn % 2 else reversed(sides):
            side.run()
    for side in sides:
        side.end()
    ours, theirs = sides
    assert ours.matches == theirs.matches, f"{row}: {ours.matches:,} matches, and {theirs.matches:,} before"
    ratio = theirs.best / ours.best
    mark = "" if ratio >= LEAST else f" below {LEAST}"
    times = f"{ours.best * 1e3:.4g} ms | {theirs.best * 1e3:.4g} ms"
    print(f"| {row} | {times} | {ratio:.2f}{mark} | {ours.matches:,} |", flush=True)
    return ratio


def main() -> None:
    """Compare the rows; exit with 1 where one is slower than it was."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", metavar="REV", help="the commit to compare with")
    parser.add_argument("--only", nargs="+", default=[""], metavar="PART", help="rows with one of these in their names")
    parser.add_argument("--rounds", type=int, help="instead of as many as each row has")
    parser.add_argument("--quick", action="store_true", help="a tenth of the events: to see that it works")
    options = parser.parse_args()
    trees = ROOT / "src", checkout(options.revision)
    print(f"| row | this tree | {options.revision} | ratio | matches |\n|---|---|---|---|---|")
    rows = [row for row in ROWS if any(part in row for part in options.only)]
    ratios = [compare(row, trees, options.rounds or ROWS[row].rounds, quick=options.quick) for row in rows]
    sys.exit(any(ratio < LEAST for ratio in ratios))


if __name__ == "__main__":
    main()
