"""The C++ loops as Python sees them: from dense keys and coded types to the positions of the matches.

Making the keys and codes is not a loop's work, so it is done when the loop is made; calling it takes the whole stream
as one batch, and enumerates. Its state begins empty each time but keeps its memory, as the engine's does. Matches of
W1, W4 and W5 are in the order of end and start, those of W2 and W3 in that of their ends. W2 and W3 write the positions
as they find them, with nothing left to enumerate: a copy is made where it is asked for, and is not timed.
"""

from __future__ import annotations

from ctypes import c_int32, c_int64, c_void_p
from dataclasses import dataclass
from functools import cached_property
from weakref import finalize

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench.native.build import address, library

Array = npt.NDArray[np.generic]
Positions = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]  # of match k: positions[offsets[k]:offsets[k + 1]]


@dataclass(frozen=True, eq=False)
class Loop:
    """One query over one stream, ready to run."""

    library: str
    push: str
    setup: tuple[int, ...]
    codes: tuple[int, ...]
    columns: tuple[Array, ...]
    flat: bool = False  # what it finds lies there as it is wanted

    def timed(self) -> object:
        """Its work: up to the positions of all matches."""
        return self.find() if self.flat else self()

    def __call__(self) -> Positions:
        """Find the matches and enumerate them."""
        state = self._run()
        offsets = np.empty(self._call("matches", state) + 1, np.int64)
        positions = np.empty(self._call("positions", state), np.int64)
        self._call("enumerate", state, address(offsets), address(positions))
        return offsets, positions

    def find(self) -> int:
        """Find the matches only; how many."""
        return self._call("matches", self._run())

    def steps(self) -> int:
        """How often a run met an event."""
        return self._call("steps", self._run())

    def _run(self) -> c_void_p:
        self._call("reset", self.state)
        batch = c_int64(len(self.columns[0])), c_int32(0)
        self._call(self.push, self.state, *batch, *map(c_int32, self.codes), *map(address, self.columns))
        return self.state

    @cached_property
    def state(self) -> c_void_p:
        """What it holds, made on first use."""
        state = c_void_p(self._call("new", *map(c_int64, self.setup)))
        finalize(self, getattr(library(self.library), f"{self.library}_free"), state)
        return state

    def _call(self, function: str, *arguments: object) -> int:
        result: int = getattr(library(self.library), f"{self.library}_{function}")(*arguments)
        return result


def w1(table: pa.Table, predicate: str, strategy: str, window: int) -> Loop:
    """SEQ(Stock+ a[], Stock b) by symbol, with p1, p2 or p3 and s2 or s3 of SASE+."""
    types, codes = coded(table)
    symbol = dense(table, "symbol")
    columns = codes, symbol, plain(table, "price"), plain(table, "volume")
    return Loop("w1", f"push_{predicate}{strategy}", (distinct(symbol), window), (types["Stock"],), columns)


def w2(table: pa.Table, window: int) -> Loop:
    """SEQ(E1 a, E2 b, E3 c) by attr1."""
    types, codes = coded(table)
    key = dense(table, "attr1")
    wanted = types["E1"], types["E2"], types["E3"]
    return Loop("w2", "push", (distinct(key), window), wanted, (codes, key, plain(table, "ts")), flat=True)


def w3(table: pa.Table, rare: str, window: int) -> Loop:
    """A, B and C with rising prices, lazily; C is the "first", "middle" or "last"."""
    types, codes = coded(table)
    wanted = types["A"], types["B"], types["C"]
    columns = codes, plain(table, "ts"), plain(table, "price")
    return Loop("w3", f"push_{rare}", (window,), wanted, columns, flat=True)


def w4(table: pa.Table, window: int) -> Loop:
    """SEQ(Shelf a, !(Register b), Exit c) by tag."""
    types, codes = coded(table)
    tag = dense(table, "tag_id")
    wanted = types["Shelf"], types["Register"], types["Exit"]
    return Loop("w4", "push", (distinct(tag), window), wanted, (codes, tag, plain(table, "ts")))


def w5_balanced(table: pa.Table, window: int) -> Loop:
    """AFA's Q1: a drop, then two Vs with as many rises as falls."""
    types, codes = coded(table)
    return Loop("w5", "push_balanced", (window,), (types["Tick"],), (codes, plain(table, "change")))


def w5_prices(table: pa.Table, window: int) -> Loop:
    """A large drop, then two Vs told by prices, up to the first fall after the second."""
    types, codes = coded(table)
    columns = codes, plain(table, "price"), plain(table, "change")
    return Loop("w5", "push_prices", (window,), (types["Tick"],), columns)


def sase(table: pa.Table, algorithm: str, variant: str, window: int) -> Loop:
    """SASE+'s basic or backtrack algorithm on the template of W1, or on that of Experiment 4."""
    symbol = dense(table, "symbol")
    columns = symbol, plain(table, "price"), plain(table, "volume")
    return Loop("sase", f"{algorithm}_{variant}", (distinct(symbol), window), (), columns)


def plain(table: pa.Table, name: str) -> Array:
    """A column of numbers as it is."""
    return np.ascontiguousarray(table.column(name).combine_chunks().to_numpy())


def dense(table: pa.Table, name: str) -> Array:
    """A column of keys as numbers from 0 on."""
    return np.unique(plain(table, name), return_inverse=True)[1].astype(np.int32)


def coded(table: pa.Table) -> tuple[dict[str, int], Array]:
    """The codes of the types, and those of the events."""
    column = table.column("type").combine_chunks()
    codes = {name: code for code, name in enumerate(column.dictionary.to_pylist())}
    return codes, column.indices.to_numpy().astype(np.int32)


def distinct(codes: Array) -> int:
    """How many dense keys there are."""
    return int(codes.max(initial=-1)) + 1
