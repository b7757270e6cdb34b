"""The event streams of the papers, generated deterministically.

    python -m bench.workloads OUTDIR [--scale 1.0] [--csv]

Every stream is sorted by `ts` (milliseconds, strictly increasing: one event per millisecond), so a window of N events
of the whole stream is N milliseconds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

Stream = Callable[[int], pa.Table]


def stock(n: int, symbols: int = 2, p_up: float = 0.7, seed: int = 1) -> pa.Table:
    """SASE+ (SIGMOD'08, section 6): price walks in 1..1000 with probability p_up of a rise."""
    rng = np.random.default_rng(seed)
    symbol = rng.integers(0, symbols, n)
    step = rng.choice([1, -1, 0], size=n, p=[p_up, (1 - p_up) / 2, (1 - p_up) / 2])
    price = np.empty(n, np.int64)
    for s in range(symbols):
        mine = symbol == s
        price[mine] = (rng.integers(0, 1000) + np.cumsum(step[mine])) % 1000 + 1
    return pa.table(
        {
            "ts": np.arange(n, dtype=np.int64),
            "type": np.full(n, "Stock"),
            "symbol": symbol,
            "price": price,
            "volume": rng.integers(1, 1001, n),
        }
    )


def typed(n: int, domain: int, second: int = 20, types: int = 20, seed: int = 2) -> pa.Table:
    """SASE (SIGMOD'06, section 5.1): `types` event types, five attributes; of attr1 and attr2 the number of values."""
    rng = np.random.default_rng(seed)
    columns = {
        "ts": np.arange(n, dtype=np.int64),
        "type": np.char.add("E", rng.integers(0, types, n).astype(str)),
        "attr1": rng.integers(0, domain, n),
        "attr2": rng.integers(0, second, n),
    }
    for i in (3, 4, 5):
        columns[f"attr{i}"] = rng.integers(0, 1000, n)
    return pa.table(columns)


def rare_last(n: int, rare: float = 0.001, seed: int = 3) -> pa.Table:
    """Lazy NFA (DEBS'15, section 7): A and B equally frequent, C rare; `price` correlates weakly."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["A", "B", "C"], size=n, p=[(1 - rare) / 2, (1 - rare) / 2, rare])
    return pa.table(
        {
            "ts": np.arange(n, dtype=np.int64),
            "type": kind,
            "price": rng.normal(100.0, 10.0, n).round(4),
        }
    )


def switching(n: int, phases: int = 6, rare: float = 0.001, seed: int = 6) -> pa.Table:
    """Lazy NFA (DEBS'15, section 7, Fig. 10): which of A, B and C is rare changes from phase to phase, C first."""
    rng = np.random.default_rng(seed)
    others = (1 - rare) / 2
    kinds = []
    for phase in range(phases):
        rates = np.full(3, others)
        rates[(phase + 2) % 3] = rare
        length = n * (phase + 1) // phases - n * phase // phases
        kinds.append(rng.choice(["A", "B", "C"], size=length, p=rates))
    return pa.table(
        {
            "ts": np.arange(n, dtype=np.int64),
            "type": np.concatenate(kinds),
            "price": rng.normal(100.0, 10.0, n).round(4),
        }
    )


def ticks(n: int, p_up: float = 0.5, seed: int = 4) -> pa.Table:
    """AFA (VLDB'10, section 6.1): one stock; each tick moves by a truncated N(0.70, 0.30)."""
    rng = np.random.default_rng(seed)
    size = np.clip(rng.normal(0.70, 0.30, n), 0.01, None)
    change = np.where(rng.random(n) < p_up, size, -size).round(4)
    return pa.table(
        {
            "ts": np.arange(n, dtype=np.int64),
            "type": np.full(n, "Tick"),
            "price": (1000.0 + np.cumsum(change)).round(4),
            "change": change,
        }
    )


def quiet_ticks(n: int, ignorable: float, p_up: float = 0.5, seed: int = 4) -> pa.Table:
    """The same where a share of the ticks does not move: what AFA calls ignorable events."""
    table = ticks(n, p_up, seed)
    still = np.random.default_rng(seed + 100).random(n) < ignorable
    change = np.where(still, 0.0, table.column("change").to_numpy())
    table = table.set_column(3, "change", pa.array(change))
    return table.set_column(2, "price", pa.array((1000.0 + np.cumsum(change)).round(4)))


def rfid(n: int, tags: int = 5000, theft: float = 0.01, seed: int = 5) -> pa.Table:
    """SASE Query 1: items move shelf -> register -> exit; a share `theft` skips the register."""
    rng = np.random.default_rng(seed)
    tag = np.zeros(n, np.int64)
    kind = np.empty(n, dtype=object)
    stage: dict[int, int] = {}
    for i in range(n):
        t = int(rng.integers(0, tags))
        s = stage.get(t, 0)
        kind[i] = ("Shelf", "Register", "Exit")[s]
        tag[i] = t
        stage[t] = 0 if s == 2 else (2 if s == 0 and rng.random() < theft else s + 1)
    return pa.table(
        {
            "ts": np.arange(n, dtype=np.int64),
            "type": kind.astype(str),
            "tag_id": tag,
        }
    )


def cayuga(n: int, domain: int = 100, seed: int = 7) -> pa.Table:
    """Cayuga (TR, section 5.1): four discrete and four continuous attributes, all uniform."""
    rng = np.random.default_rng(seed)
    columns = {"ts": np.arange(n, dtype=np.int64), "type": np.full(n, "Event")}
    columns |= {f"d{k}": rng.integers(0, domain, n) for k in range(4)}
    return pa.table(columns | {f"c{k}": rng.random(n) for k in range(4)})


def payments(n: int, customers: int, seed: int = 8) -> pa.Table:
    """Card payments of a day, three of ten abroad; each customer pays as often."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "ts": np.sort(rng.integers(0, 86_400_000, n)),
            "type": rng.choice(["Payment", "Abroad"], n, p=[0.7, 0.3]),
            "customer": rng.integers(0, customers, n),
            "amount": np.round(rng.lognormal(3, 2, n), 2),
        }
    )


def closing(n: int, names: int = 24, smooth: int = 1, sigma: float = 0.06, seed: int = 20) -> pa.Table:
    """Cayuga (TR, section 5.2.2): closing prices, made as geometric random walks, company by company on each day.

    smooth: over how many days of its company a price is averaged.
    """
    rng = np.random.default_rng(seed)
    days = -(-n // names) + smooth - 1
    walks = np.exp(np.cumsum(rng.normal(0, sigma, (days, names)), axis=0))
    prices = rng.uniform(10, 100, names) * walks
    sums = np.cumsum(np.vstack([np.zeros(names), prices]), axis=0)
    prices = (sums[smooth:] - sums[:-smooth]) / smooth
    return pa.table(
        {
            "ts": np.arange(n, dtype=np.int64),
            "type": np.full(n, "Stock"),
            "name": np.arange(n) % names,
            "price": prices.ravel()[:n],
        }
    )


def disordered(table: pa.Table, percent: float, most: int, seed: int = 3) -> pa.Table:
    """A stream in another order of arrival: a share of its events is behind by 1 to `most` events."""
    rng = np.random.default_rng(seed)
    arrives = np.arange(table.num_rows, dtype=np.float64)
    late = rng.random(table.num_rows) < percent / 100
    arrives[late] += rng.integers(1, most + 1, int(late.sum())) + 0.5  # after the event that is there already
    return table.take(pa.array(np.argsort(arrives, kind="stable"))).combine_chunks()


# A stream by name, and how many events it has at scale 1.
STREAMS: dict[str, tuple[Stream, int]] = {
    "stock": (stock, 200_000),
    "typed_v100": (lambda n: typed(n, 100), 1_000_000),
    "typed_v1000": (lambda n: typed(n, 1000), 1_000_000),
    "typed_v10000": (lambda n: typed(n, 10_000), 1_000_000),
    "rare_last": (rare_last, 200_000),
    "switching": (switching, 600_000),
    "ticks": (ticks, 100_000),
    "rising_ticks": (lambda n: ticks(n, 0.7), 100_000),
    "rfid": (rfid, 1_000_000),
    "cayuga": (cayuga, 100_000),
    "closing": (closing, 112_635),
}


def main() -> None:
    """Write all streams as Parquet files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("outdir", type=Path)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--csv", action="store_true", help="also write CSV")
    args = parser.parse_args()
    args.outdir.mkdir(parents=True, exist_ok=True)
    for name, (make, size) in STREAMS.items():
        table = make(int(size * args.scale))
        pyarrow.parquet.write_table(table, args.outdir / f"{name}.parquet")
        if args.csv:
            pyarrow.csv.write_csv(table, args.outdir / f"{name}.csv")
        print(f"{name}: {table.num_rows} events")


if __name__ == "__main__":
    main()
