"""Many random kills: `python campaign.py FOLDER [KILLS [MODES]]`. Interrupted and started again, it goes on.

MODES, such as log,table: what the runs are in turn. "stream" waits until a match is certain; the others speculate,
"log" into files of changes, "table" into a Delta table.
"""

import json
import random
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import FOUND, KINDS, App, Say, compare, expected, make_changes, make_events, run_with_kills, write_events

KILLS_OF_A_RUN = 7
FILES = 16


def run_campaign(spark: Any, folder: Path, kills: int, say: Say, modes: Sequence[str] = ("stream",)) -> Counter[str]:
    """Runs of some kills each until there were so many; what was done of each kind. A run is drawn from its number."""
    folder.mkdir(parents=True, exist_ok=True)
    done: Counter[str] = Counter()
    for seed in range(10_000):
        if done.total() >= kills:
            break
        result = folder / f"run-{seed:03}.json"
        if not result.exists():
            result.write_text(json.dumps(_run(spark, folder / f"run-{seed:03}", seed, modes, say)))
        done.update(json.loads(result.read_text()))
        say(f"{done.total()} of {kills} kills so far: {dict(done)}")
    return done


def _run(spark: Any, folder: Path, seed: int, modes: Sequence[str], say: Say) -> list[str]:
    shutil.rmtree(folder, ignore_errors=True)
    chance = random.Random(seed)
    kinds = chance.choices(KINDS, weights=[3, 2, 2, 1], k=KILLS_OF_A_RUN)
    mode = modes[seed % len(modes)]
    events = (make_events if mode == "stream" else make_changes)(seed, 250 * FILES)
    write_events(events, folder, FILES)
    app = App(folder, mode=mode, say=lambda line: say(f"run {seed}, {mode}: {line}"))
    run_with_kills(app, kinds, chance)
    wanted = expected(events, folder)
    compare(FOUND[mode](spark, folder), wanted)
    say(f"run {seed}, {mode}: {app.starts} starts, {len(app.kills)} kills, {wanted.total()} matches, each of them once")
    shutil.rmtree(folder)
    return app.kills


if __name__ == "__main__":
    from app import make_session

    place = Path(sys.argv[1])
    session = make_session("local[1]", str(place / "reader"))
    run_campaign(
        session,
        place,
        int(sys.argv[2]) if len(sys.argv) > 2 else 50,
        lambda line: sys.stdout.write(f"{line}\n") and sys.stdout.flush(),
        sys.argv[3].split(",") if len(sys.argv) > 3 else ["stream"],
    )
    session.stop()
