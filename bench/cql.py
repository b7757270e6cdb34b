"""Double-Top as Cayuga's report prints it in CQL (Fig. 19), each view a step on whole columns in numpy.

STREAM is not here. A view is what its text says: windows of rows are shifts within a name, joins are looked up by name
and number. What STREAM does tuple by tuple is done for all at once, so speeds are not those of a stream system.
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

SPAN = 2**32  # more than there are extrema of a name


class Extrema(NamedTuple):
    """Prices between a rise and a fall, by name and time; pdiff: how much the price was above the one before."""

    name: Any
    price: Any
    pdiff: Any


class Tops(NamedTuple):
    """Results: five extrema each."""

    name: Any
    a: Any
    b: Any
    c: Any
    d: Any
    e: Any


def cql1(table: pa.Table) -> Tops:
    """Fig. 19(a): differences, then extrema, then five states."""
    name, price = _by_name(table)
    follows = name[1:] == name[:-1]
    last, difference = name[1:][follows], (price[1:] - price[:-1])[follows]  # StockDiff
    at = price[1:][follows]
    turns = (last[1:] == last[:-1]) & (difference[1:] * difference[:-1] < 0.0)
    return _states(Extrema(last[:-1][turns], at[:-1][turns], difference[:-1][turns]))


def cql2(table: pa.Table) -> Tops:
    """Fig. 19(b): extrema by a join of the last three prices of a name with themselves twice, then as before."""
    name, price = _by_name(table)
    size, time = len(name), np.arange(len(name))
    windows = [time - back for back in range(3)]  # of each row: the rows of its name that the window has
    valid = [(row >= 0) & (name[row] == name) for row in windows]
    found = []
    for one, two, three in product(range(3), repeat=3):
        s1, s2, s3 = windows[one], windows[two], windows[three]
        turns = (price[s2] - price[s1]) * (price[s3] - price[s2]) < 0.0
        joined = valid[one] & valid[two] & valid[three] & turns & (s1 < s2) & (s2 < s3)
        # Istream: what the join has not had before the row came.
        new = (s1 == time) | (s2 == time) | (s3 == time)
        found.append(np.stack([s1, s2], axis=1)[joined & new])
    pairs = np.concatenate(found) if size else np.zeros((0, 2), np.int64)
    pairs = pairs[np.argsort(pairs[:, 1], kind="stable")]
    at = pairs[:, 1]
    return _states(Extrema(name[at], price[at], price[at] - price[pairs[:, 0]]))


def _by_name(table: pa.Table) -> tuple[Any, Any]:
    name = table.column("name").to_numpy()
    order = np.argsort(name, kind="stable")
    return name[order], table.column("price").to_numpy()[order]


def _states(extrema: Extrema) -> Tops:
    """States A to D, each a relation that the next extremum of its name is joined with."""
    name, price, pdiff = extrema
    first = np.flatnonzero(np.append(True, name[1:] != name[:-1])) if len(name) else np.zeros(0, np.int64)
    counts = np.diff(np.append(first, len(name)))
    number = np.arange(len(name)) - np.repeat(first, counts)  # ExtremaCounter
    key = name * SPAN + number

    def after(state: Any) -> tuple[Any, Any]:
        """The rows of a state, and the extrema whose prevSeq is theirs."""
        wanted = key[state[-1]] + 1
        place = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
        joined = key[place] == wanted
        return [column[joined] for column in state], place[joined]

    (a,) = state_a = [np.flatnonzero(pdiff < 0.0)]
    (a,), b = after(state_a)
    kept = price[b] > price[a] * 1.2
    (a, b), c = after([a[kept], b[kept]])
    kept = (price[c] > price[a] * 0.9) & (price[c] < price[a] * 1.1)
    (a, b, c), d = after([a[kept], b[kept], c[kept]])
    kept = (price[d] > price[b] * 0.9) & (price[d] < price[b] * 1.1)
    (a, b, c, d), e = after([a[kept], b[kept], c[kept], d[kept]])
    kept = price[e] < price[a]
    return Tops(name[e][kept], *(price[at][kept] for at in (a, b, c, d, e)))
