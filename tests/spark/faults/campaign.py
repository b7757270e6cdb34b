"""Many random kills: `python campaign.py FOLDER [KILLS]`. Interrupted and started again, it goes on where it was."""

import json
import random
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from harness import KINDS, App, Say, compare, expected, make_events, run_with_kills, sink, write_events

KILLS_OF_A_RUN = 7
FILES = 16


def run_campaign(spark: Any, folder: Path, kills: int, say: Say) -> Counter[str]:
    """Runs of some kills each until there were so many; what was done of each kind. A run is drawn from its number."""
    folder.mkdir(parents=True, exist_ok=True)
    done: Counter[str] = Counter()
    for seed in range(10_000):
        if done.total() >= kills:
            break
        result = folder / f"run-{seed:03}.json"
        if not result.exists():
            result.write_text(json.dumps(_run(spark, folder / f"run-{seed:03}", seed, say)))
        done.update(json.loads(result.read_text()))
        say(f"{done.total()} of {kills} kills so far: {dict(done)}")
    return done


def _run(spark: Any, folder: Path, seed: int, say: Say) -> list[str]:
    shutil.rmtree(folder, ignore_errors=True)
    chance = random.Random(seed)
    kinds = chance.choices(KINDS, weights=[3, 2, 2, 1], k=KILLS_OF_A_RUN)
    events = make_events(seed, 250 * FILES)
    write_events(events, folder, FILES)
    app = App(folder, say=lambda line: say(f"run {seed}: {line}"))
    run_with_kills(app, kinds, chance)
    wanted = expected(events, folder)
    compare(sink(spark, folder), wanted)
    say(f"run {seed}: {app.starts} starts, {len(app.kills)} kills, {wanted.total()} matches, each of them once")
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
    )
    session.stop()
