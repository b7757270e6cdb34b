"""A stream of Spark seen through its checkpoint, without Spark: which micro-batches there were, and when."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from cepheid.api.files.read_files import read_files
from cepheid.errors import CepheidError
from cepheid.studio.views import rows_view
from cepheid.values.json import Json

SHOWN = 60
"""How many micro-batches are looked at, the newest."""
PATIENCE = 60.0
"""Seconds without a micro-batch after which a stream may have stopped; longer if its micro-batches are rarer."""
_LAST_MATCHES = 20
_DATA = (".parquet", ".json", ".csv")


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """A micro-batch. began, ended: seconds since 1970; watermark: milliseconds, None before there is one."""

    number: int
    began: float
    ended: float | None
    watermark: int | None


def watched(checkpoint: Path, matches: Path | None, at: float | None = None) -> Json:
    """What a checkpoint and the output of its stream show, as JSON. at: seconds since 1970."""
    at = time.time() if at is None else at
    batches = list(_batches(checkpoint))
    recorded = _recorded(checkpoint)
    status, reason = _status(checkpoint, batches, at) if recorded is None else _alive(recorded, at)
    watermarks = [batch.watermark for batch in batches if batch.watermark is not None]
    return {
        "status": status,
        "told": reason,
        "now": at,
        "batches": [asdict(micro_batch) for micro_batch in batches],
        "watermark": watermarks[-1] if watermarks else None,
        "state_bytes": sum(size for size in _sizes(checkpoint / "state")),
        "recorded": None if recorded is None else _figures(recorded["batches"]),
        "matches": None if matches is None else _last_matches(matches),
    }


def _status(checkpoint: Path, batches: list[MicroBatch], at: float) -> tuple[str, str]:
    """Whether the stream runs, and the reason to think so."""
    if not checkpoint.is_dir():
        return "none", f"There is no folder '{checkpoint}' yet. It is made when the stream starts."
    if not batches:
        return "none", "No stream has begun a micro-batch here yet."
    last = batches[-1]
    ended = [batch.ended for batch in batches if batch.ended is not None]
    gaps = [later - earlier for earlier, later in pairwise(ended)]
    usual = median(gaps) if gaps else 0.0
    silent = at - max(last.began, last.ended or 0.0)
    if silent <= max(PATIENCE, 5 * usual):
        return "running", f"Micro-batch {last.number} {'runs' if last.ended is None else 'is done'}."
    ago = _spelt(silent)
    if last.ended is None:
        return "dead", (
            f"Micro-batch {last.number} began {ago} ago and has not ended: the stream was killed or has failed. "
            "Start it again with the same checkpoint, and it repeats this micro-batch."
        )
    often = f", and before that one ended every {_spelt(usual)}" if gaps else ""
    return "silent", (
        f"No micro-batch for {ago}{often}. The stream has stopped, or no events come. "
        "Start it again with the same checkpoint, and it goes on after the last one."
    )


def _recorded(checkpoint: Path) -> Json | None:
    """What `cepheid.spark.record` has written beside the checkpoint, if it was called."""
    try:
        progress: Json = json.loads((checkpoint / "_cepheid" / "progress.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return progress


def _alive(recorded: Json, at: float) -> tuple[str, str]:
    """Whether the stream runs, by what it says itself."""
    ago = at - recorded["at"]
    if recorded["status"] == "failed":
        reason = str(recorded["exception"]).split("\n", 1)[0]
        return "dead", f"The stream failed {_spelt(ago)} ago: {reason}"
    if recorded["status"] == "ended":
        return "ended", f"It ended {_spelt(ago)} ago. Start it again with the same checkpoint, and it goes on."
    last = recorded["batches"][-1] if recorded["batches"] else None
    if ago > PATIENCE and (last is None or ago > 5 * last["seconds"]):
        return "dead", (
            f"No sign of life for {_spelt(ago)}, and it has not said that it ended: the stream was killed. "
            "Start it again with the same checkpoint, and it goes on where it was."
        )
    return "running", "It waits for events." if last is None else f"Micro-batch {last['number']} is done."


def _figures(batches: list[Json]) -> Json:
    """Rates and sums of the last micro-batches."""
    if not batches:
        nothing = dict.fromkeys(("batches", "events", "matches", "late", "runs", "state_bytes"), 0)
        return {**nothing, "events_per_second": None}
    seconds = batches[-1]["at"] - batches[0]["at"] + batches[0]["seconds"]
    sums = {name: sum(batch[name] for batch in batches) for name in ("events", "matches", "late")}
    rate = round(sums["events"] / seconds, 1) if seconds > 0 else None
    last = {name: batches[-1][name] for name in ("runs", "state_bytes")}
    return {"batches": len(batches), "events_per_second": rate, **sums, **last}


def _spelt(seconds: float) -> str:
    """A time to wait, in words.

    >>> _spelt(0.4), _spelt(90), _spelt(7200)
    ('0.4 seconds', '90 seconds', '2 hours')
    """
    for size, unit in ((172_800, "days"), (7_200, "hours"), (120, "minutes")):
        if seconds >= size:
            return f"{seconds / {'days': 86_400, 'hours': 3_600, 'minutes': 60}[unit]:.0f} {unit}"
    return f"{seconds:.1f} seconds" if seconds < 10 else f"{seconds:.0f} seconds"


def _batches(checkpoint: Path) -> Iterator[MicroBatch]:
    """The newest micro-batches, the oldest of them first."""
    offsets, commits = _by_batch(checkpoint / "offsets"), _by_batch(checkpoint / "commits")
    for number in sorted(offsets)[-SHOWN:]:
        facts = _facts(offsets[number])
        watermark = facts.get("batchWatermarkMs")
        began = facts.get("batchTimestampMs")
        yield MicroBatch(
            number,
            began / 1000 if isinstance(began, int) and began else _modified(offsets[number]),
            _modified(commits[number]) if number in commits else None,
            watermark if isinstance(watermark, int) and watermark > 0 else None,
        )


def _by_batch(folder: Path) -> dict[int, Path]:
    try:
        return {int(name): folder / name for name in os.listdir(folder) if name.isdigit()}
    except OSError:
        return {}


def _facts(file: Path) -> Json:
    """The line of a file of Spark's that is about the micro-batch: after that of its version."""
    try:
        facts = json.loads(file.read_text(encoding="utf-8").split("\n")[1])
    except (OSError, ValueError, IndexError):  # Spark removes old ones, and may write this one now
        return {}
    return facts if isinstance(facts, dict) else {}


def _modified(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _sizes(folder: Path) -> Iterator[int]:
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                yield os.path.getsize(os.path.join(parent, name))
            except OSError:  # Spark has removed it meanwhile
                continue


def _last_matches(folder: Path) -> Json:
    """The matches in the newest file of the output."""
    for file in _newest_files(folder):
        try:
            table = read_files(str(file), None)
        except CepheidError:  # a file that is just being written
            continue
        if table.num_rows:
            return {**rows_view(table.slice(max(0, table.num_rows - _LAST_MATCHES))), "written": _modified(file)}
    return {"columns": [], "rows": [], "written": None}


def _newest_files(folder: Path) -> Iterator[Path]:
    """The files of matches, the newest first; `cepheid run` makes a folder for each micro-batch."""
    try:
        names = [name for name in os.listdir(folder) if not name.startswith(("_", "."))]
    except OSError:
        return
    for path in sorted((folder / name for name in names), key=_modified, reverse=True):
        if path.is_dir():
            yield from _newest_files(path)
        elif path.name.endswith(_DATA) and _size(path):
            yield path


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
