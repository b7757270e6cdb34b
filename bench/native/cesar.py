"""CESAR expressions in C++: from dense keys and coded types to columns of results."""

from __future__ import annotations

from ctypes import POINTER, c_double, c_int32, c_int64, cast
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench.native.build import library
from bench.native.loops import Loop, coded, dense, distinct, plain

BENCHMARK_COLUMNS = ("d0", "d1", "d2", "d3", "c0", "c1", "c2", "c3")


@dataclass(frozen=True, eq=False)
class Results:
    """One expression over one stream, ready to run, and the types of its columns."""

    loop: Loop
    types: str  # of each column: i, an integer, or d, a double

    def timed(self) -> int:
        """Its work: results lie in columns when it is done; how many."""
        return self.loop.find()

    def columns(self) -> list[npt.NDArray[np.generic]]:
        """What it finds; of an expression starts, ends and attributes."""
        count = self.timed()
        return [self._column(k, type_, count) for k, type_ in enumerate(self.types)]

    def _column(self, number: int, type_: str, count: int) -> npt.NDArray[np.generic]:
        column = getattr(library(self.loop.library), f"{self.loop.library}_column")
        address = column(self.loop.state, c_int32(number))
        if not count:
            return np.empty(0, np.int64 if type_ == "i" else np.float64)
        kind = POINTER(c_int64 if type_ == "i" else c_double)
        return np.ctypeslib.as_array(cast(address, kind), (count,)).copy()


def rise(table: pa.Table, least: int) -> Results:
    """Query 5 over ticks of one stock: rises that last."""
    types, codes = coded(table)
    columns = codes, plain(table, "ts"), plain(table, "price"), plain(table, "change")
    return Results(Loop("cesar", "push_rise", (1,), (types["Tick"], least), columns), "ii" + "dddd")


def rises(table: pa.Table, least: int) -> Results:
    """Query 5 by name."""
    types, codes = coded(table)
    key = dense(table, "symbol")
    columns = codes, plain(table, "ts"), key, *(plain(table, name) for name in ("symbol", "price", "volume"))
    return Results(Loop("cesar", "push_rises", (distinct(key),), (types["Stock"], least), columns), "ii" + "iiiiii")


def benchmark(table: pa.Table, template: str) -> Results:
    """Filter or NonDetAgg of the benchmark, with the constants of `queries.cesar_benchmark`."""
    types, codes = coded(table)
    columns = codes, plain(table, "ts"), *(plain(table, name) for name in BENCHMARK_COLUMNS)
    given = "ii" + ("iiii" + "dddd") * 3 + ("d" if template == "nondet" else "")
    return Results(Loop("cesar", f"push_{template}", (1,), (types["Event"],), columns), given)


def tops(table: pa.Table) -> Results:
    """Double-Top by name."""
    types, codes = coded(table)
    key = dense(table, "name")
    columns = codes, plain(table, "ts"), key, plain(table, "name"), plain(table, "price")
    return Results(Loop("cesar", "push_tops", (distinct(key),), (types["Stock"],), columns), "ii" + "iddddd")


def cql(table: pa.Table, form: str) -> Results:
    """Double-Top as the report prints it in CQL, form cql1 or cql2: the name and five prices."""
    columns = plain(table, "ts"), plain(table, "name"), plain(table, "price")
    return Results(Loop("cql", f"push_{form}", (1,), (), columns), "iddddd")
