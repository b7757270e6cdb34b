"""Matches that were taken out of the store of a scan before they are emitted."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.engine.machines.scan import Scan
from cepheid.engine.matches.match_table import MatchTable


def clear_store(scan: Scan, collected: Sequence[MatchTable]) -> int | None:
    """Drop the nodes that no match to come can reach; return the first event that a match or a run still has."""
    scan.state.collect(scan.clock)
    firsts = [int(part.rows.min()) for part in collected if len(part)]
    oldest = scan.state.oldest_event()
    return min([*firsts, *([] if oldest is None else [oldest])], default=None)
