"""Ten queries of docs/recipes.md, each with a stream for it.

They are as printed there, but for time, which is in milliseconds here, and a window for what would else have as many
matches as there are pairs of events.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from bench.workloads import Stream


class Recipe(NamedTuple):
    """A query, and the stream that it is for."""

    text: str
    stream: str
    options: Mapping[str, Any] = {}  # of Query


def steps(n: int, seed: int = 11) -> pa.Table:
    """A and B among others."""
    rng = np.random.default_rng(seed)
    return pa.table({"ts": _times(n), "type": _drawn(rng, n, {"A": 0.1, "B": 0.2, "X": 0.7})})


def clicks(n: int, users: int = 2_000, seed: int = 12) -> pa.Table:
    """A shop: about 18 clicks an hour of each user."""
    rng = np.random.default_rng(seed)
    kind = _drawn(rng, n, {"view": 0.6, "cart": 0.25, "buy": 0.15})
    return pa.table({"ts": _times(n, 100), "type": kind, "user": _named(rng, n, "user", users)})


def logins(n: int, users: int = 3_000, failed: float = 0.4, seed: int = 13) -> pa.Table:
    """Two logins of each user in ten minutes, so that few users have many subsets of failures."""
    rng = np.random.default_rng(seed)
    user = _named(rng, n, "user", users)
    return pa.table(
        {"ts": _times(n, 100), "type": _drawn(rng, n, {"Login": 1}), "user": user, "ok": rng.random(n) >= failed}
    )


def readings(n: int, sensors: int = 1_000, seed: int = 14) -> pa.Table:
    """Temperatures; a stream of one type."""
    rng = np.random.default_rng(seed)
    sensor = _named(rng, n, "sensor", sensors)
    return pa.table({"ts": _times(n), "sensor": sensor, "temp": rng.normal(20.0, 5.0, n).round(2)})


STREAMS: dict[str, Stream] = {"steps": steps, "clicks": clicks, "logins": logins, "readings": readings}


def _pair(strategy: str, within: str = "") -> Recipe:
    return Recipe(f"PATTERN SEQ(A a, B b) WHERE {strategy} {{ }} {within} RETURN b.ts AS b", "steps")


def _failures(strategy: str, output: str = "") -> Recipe:
    text = f"""
        PATTERN SEQ(Login{{3,}} f[], Login s)
        WHERE   {strategy} {{ [user] AND NOT f[].ok AND s.ok }}
        WITHIN  10 minutes
        RETURN  s.user AS user, f.LEN AS failures
        {output}
    """
    return Recipe(text, "logins")


_FUNNEL = """
    PATTERN SEQ(view v, cart c, !(buy b))
    WHERE   skip_till_next_match { [user] }
    WITHIN  1 hour
    RETURN  v.user AS user, c.ts AS carted
"""
_RISES = """
    PATTERN R{2,} r[]
    WHERE   partition_contiguity { [sensor] AND r[i].temp > r[i-1].temp }
    RETURN  r[1].sensor AS sensor, r.LEN AS n
"""
_NEXT = """
    PATTERN SEQ(R a, R b) WHERE partition_contiguity { [sensor] }
    RETURN a.sensor AS sensor, b.ts - a.ts AS gap
"""

RECIPES = {
    "pairs, any": _pair("skip_till_any_match", "WITHIN 20 events"),
    "pairs, next": _pair("skip_till_next_match"),
    "pairs, strict": _pair("strict_contiguity"),
    "funnel": Recipe(_FUNNEL, "clicks"),
    "failures in a row": _failures("partition_contiguity"),
    "failures, the first": _failures("partition_contiguity", "OUTPUT NON_OVERLAP"),
    "failures, apart": _failures("skip_till_next_match"),
    "failures, subsets": _failures("skip_till_any_match"),
    "rises": Recipe(_RISES, "readings", {"type": None}),
    "next of a key": Recipe(_NEXT, "readings", {"type": None}),
}


def _times(n: int, step: int = 1) -> pa.Array:
    return pa.array(np.arange(n, dtype=np.int64) * step)


def _drawn(rng: np.random.Generator, n: int, shares: Mapping[str, float]) -> pa.Array:
    return _coded(rng.choice(len(shares), n, p=list(shares.values())), list(shares))


def _named(rng: np.random.Generator, n: int, name: str, how_many: int) -> pa.Array:
    """Keys as strings, as they mostly are."""
    return _coded(rng.integers(0, how_many, n), [f"{name} {k}" for k in range(how_many)]).cast(pa.string())


def _coded(codes: Any, names: list[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), names)
