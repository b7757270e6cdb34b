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
from typing import Any

from cepheid.api.files.read_files import read_files
from cepheid.errors import CepheidError
from cepheid.studio.views import rows_view

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


def watched(checkpoint: Path, matches: Path | None, now: float | None = None) -> dict[str, Any]:
    """What a checkpoint and the output of its stream tell, as JSON. now: seconds since 1970."""
    now = time.time() if now is None else now
    batches = list(_batches(checkpoint))
    status, told = _status(checkpoint, batches, now)
    watermarks = [batch.watermark for batch in batches if batch.watermark is not None]
    return {
        "status": status,
        "told": told,
        "now": now,
        "batches": [asdict(one) for one in batches],
        "watermark": watermarks[-1] if watermarks else None,
        "state_bytes": sum(size for size in _sizes(checkpoint / "state")),
        "matches": None if matches is None else _last_matches(matches),
    }


def _status(checkpoint: Path, batches: list[MicroBatch], now: float) -> tuple[str, str]:
    """Whether the stream runs, and the reason to think so."""
    if not checkpoint.is_dir():
        return "none", f"There is no folder '{checkpoint}' yet. It is made when the stream starts."
    if not batches:
        return "none", "No stream has begun a micro-batch here yet."
    last = batches[-1]
    ended = [batch.ended for batch in batches if batch.ended is not None]
    gaps = [later - earlier for earlier, later in pairwise(ended)]
    usual = median(gaps) if gaps else 0.0
    silent = now - max(last.began, last.ended or 0.0)
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
    offsets, commits = _numbered(checkpoint / "offsets"), _numbered(checkpoint / "commits")
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


def _numbered(folder: Path) -> dict[int, Path]:
    try:
        return {int(name): folder / name for name in os.listdir(folder) if name.isdigit()}
    except OSError:
        return {}


def _facts(file: Path) -> dict[str, Any]:
    """The line of a file of Spark's that is about the micro-batch: after that of its version."""
    try:
        found = json.loads(file.read_text(encoding="utf-8").split("\n")[1])
    except (OSError, ValueError, IndexError):  # Spark removes old ones, and may write this one now
        return {}
    return found if isinstance(found, dict) else {}


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


def _last_matches(folder: Path) -> dict[str, Any]:
    """The matches in the newest file of the output."""
    names = [name for name in _listed(folder) if name.endswith(_DATA) and not name.startswith(("_", "."))]
    filled = [folder / name for name in names if _size(folder / name)]
    for file in sorted(filled, key=_modified, reverse=True):
        try:
            table = read_files(str(file), None)
        except CepheidError:  # a file that is just being written
            continue
        if table.num_rows:
            return {**rows_view(table.slice(max(0, table.num_rows - _LAST_MATCHES))), "written": _modified(file)}
    return {"columns": [], "rows": [], "written": None}


def _listed(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
