"""The edges of a bucket by the bounds that they ask for: an event then meets those that it may pass, not all.

See `kernel/shared_ranges` for the numbers that a block has, and what the kinds of segments are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cepheid.engine.many.tables.asked import RowConditions
from cepheid.engine.many.tables.keys import LEAST, MOST
from cepheid.kernel import shared_ranges as r

MANY = 64
"""Edges of a bucket, or of a segment, from which on they are not all tried."""
MOST_MARKED, CELLS = 3, 256
"""Columns of a segment that have cells, and how many."""
MOST_BITS = 1 << 22
"""Bits of cells that are made at a time."""


@dataclass(frozen=True)
class Bounded:
    """What rows ask of one column; those that ask nothing have bounds that all values are in."""

    column: int
    lows: np.ndarray
    highs: np.ndarray

    def take(self, rows: np.ndarray) -> Bounded:
        return Bounded(self.column, self.lows[rows], self.highs[rows])

    @property
    def sides(self) -> np.ndarray:
        """Which bounds each row has: 1 a lower one, 2 an upper one, 3 both."""
        return (self.lows > LEAST) + 2 * (self.highs < MOST)


@dataclass(frozen=True)
class Segment:
    """Rows that an event finds in one way, in their order. numbers: what the kernel reads of them."""

    kind: int
    columns: tuple[int, ...]
    rows: np.ndarray
    numbers: np.ndarray


def segments(asked: RowConditions, keyed: int, plain: np.ndarray) -> list[Segment] | None:
    """The rows of a bucket as segments; None: all of them are to be tried.

    keyed: how many conditions of each row, the first ones, are known to hold. plain: the columns whose bounds may
    distinguish rows.
    """
    count = len(asked)
    index = np.arange(len(asked.columns)) - np.repeat(asked.offsets[:-1], asked.counts)
    wanted = np.flatnonzero((asked.columns >= 0) & (index >= keyed))
    wanted = wanted[plain[asked.columns[wanted]]]
    of_row = np.repeat(np.arange(count), asked.counts)
    columns = [
        _bounded(count, int(column), asked, wanted[asked.columns[wanted] == column], of_row)
        for column in np.unique(asked.columns[wanted])
    ]
    # What all ask alike distinguishes none of them.
    columns = [
        bounded
        for bounded in columns
        if (bounded.lows != bounded.lows[0]).any() or (bounded.highs != bounded.highs[0]).any()
    ]
    if not columns or len(columns) > 60:
        return None
    shape = np.zeros(count, np.int64)
    for at, bounded in enumerate(columns):
        shape |= (bounded.sides > 0).astype(np.int64) << at
    single = np.flatnonzero((shape & (shape - 1) == 0) & (shape > 0))
    side = np.zeros(count, np.int64)
    for at, bounded in enumerate(columns):
        mine = single[shape[single] == 1 << at]
        side[mine] = bounded.sides[mine]
    shapes, codes = np.unique(np.stack([shape, side]), axis=1, return_inverse=True)
    codes = codes.reshape(-1)
    result: list[Segment] = []
    rest: list[np.ndarray] = []
    for code, (bits, way) in enumerate(shapes.T.tolist()):
        rows = np.flatnonzero(codes == code)
        if not bits or len(rows) <= MANY:
            rest.append(rows)
            continue
        restricting = [bounded.take(rows) for at, bounded in enumerate(columns) if bits >> at & 1]
        result.append(_single(restricting[0], rows, way) if len(restricting) == 1 else _marked(restricting, rows))
    if not result:
        return None
    if rest:
        result.append(Segment(r.SCANNED, (), np.concatenate(rest), np.zeros(0, np.int64)))
    return result


def block(segments_: Sequence[Segment]) -> np.ndarray:
    """Segments as numbers; the edges are counted from the first one of the bucket."""
    head = r.SEGMENTS_AT + r.SEGMENT * len(segments_)
    numbers = np.zeros(head, np.int64)
    numbers[:2] = len(segments_), sum(len(segment.rows) for segment in segments_)
    child, parts = 0, [numbers]
    for at, segment in enumerate(segments_):
        begin = r.SEGMENTS_AT + r.SEGMENT * at
        column = len(segment.columns) if segment.kind == r.MARKED else (*segment.columns, 0)[0]
        segment_numbers = segment.numbers
        if segment.kind == r.MARKED:  # where its words are is counted from the block
            segment_numbers = segment_numbers.copy()
            segment_numbers[r.MARKS_AT :][: r.MARKS * len(segment.columns)].reshape(-1, r.MARKS)[:, 2:] += head
        numbers[begin : begin + r.SEGMENT] = segment.kind | column << r.KIND_BITS, child, len(segment.rows), head
        parts.append(segment_numbers)
        head += len(segment_numbers)
        child += len(segment.rows)
    return np.concatenate(parts)


def _bounded(count: int, column: int, asked: RowConditions, where: np.ndarray, of_row: np.ndarray) -> Bounded:
    lows, highs = np.full(count, LEAST), np.full(count, MOST)
    lows[of_row[where]], highs[of_row[where]] = asked.lows[where], asked.highs[where]
    return Bounded(column, lows, highs)


def _single(bounded: Bounded, rows: np.ndarray, sides: int) -> Segment:
    """Rows with bounds of one column."""
    if sides < 3:
        bounds = bounded.lows if sides == 1 else -bounded.highs
        order = np.argsort(bounds, kind="stable")
        return Segment(r.AT_LEAST if sides == 1 else r.AT_MOST, (bounded.column,), rows[order], bounds[order])
    order = np.lexsort((-bounded.highs, bounded.lows))
    highs = _greatest(bounded.highs[order])
    numbers = np.concatenate([bounded.lows[order], highs, _greatest(highs)])
    return Segment(r.INSIDE, (bounded.column,), rows[order], numbers)


def _greatest(values: np.ndarray) -> np.ndarray:
    """The greatest of each 64."""
    return np.maximum.reduceat(values, np.arange(0, len(values), r.SIDE))


def _marked(columns: Sequence[Bounded], rows: np.ndarray) -> Segment:
    """Rows with bounds of several columns; the most selective ones are marked."""
    count = len(rows)
    cells = min(CELLS, max(16, count // 2))
    cut = [_cells(column, cells) for column in columns]
    dense = [float((last - first + 1).mean()) / (len(cuts) + 1) for cuts, first, last in cut]
    chosen = np.argsort(dense, kind="stable")[:MOST_MARKED].tolist()
    order = np.lexsort((columns[chosen[0]].highs, columns[chosen[0]].lows))
    words = -(-count // r.WORD)
    head = np.zeros((len(chosen), r.MARKS), np.int64)
    parts = [np.array([words, -(-words // r.WORD)]), head.reshape(-1)]
    at = r.MARKS_AT + head.size
    for place, number in enumerate(chosen):
        cuts, first, last = cut[number]
        marks = _words(first[order], last[order], len(cuts) + 1)
        tops = _packed(marks != 0)
        head[place] = columns[number].column, len(cuts) + 1, at, at + len(cuts), at + len(cuts) + marks.size
        parts += [cuts, marks.reshape(-1), tops.reshape(-1)]
        at += len(cuts) + marks.size + tops.size
    return Segment(r.MARKED, tuple(columns[number].column for number in chosen), rows[order], np.concatenate(parts))


def _cells(bounded: Bounded, cells: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where a column is cut so that its cells have about as many bounds each; the first and the last cell of rows.

    At the ends cells are finer: events that only a few rules, or all but a few, are about are often there.
    """
    ends = np.sort(np.concatenate([bounded.lows[bounded.lows > LEAST], bounded.highs[bounded.highs < MOST] + 1]))
    places = np.linspace(0, len(ends), cells, endpoint=False).astype(np.int64)
    outer = np.left_shift(1, np.arange(int(len(ends) // cells + 1).bit_length()))
    outer = outer[outer < len(ends)]
    cuts = np.unique(ends[np.concatenate([places, outer, len(ends) - outer])])
    return cuts, np.searchsorted(cuts, bounded.lows, "right"), np.searchsorted(cuts, bounded.highs, "right")


def _words(first: np.ndarray, last: np.ndarray, cells: int) -> np.ndarray:
    """By cell, a bit for each row that a value of the cell may pass."""
    step = max(1, MOST_BITS // len(first))
    parts = []
    for begin in range(0, cells, step):
        cell = np.arange(begin, min(begin + step, cells))[:, None]
        parts.append(_packed((first <= cell) & (cell <= last)))
    return np.concatenate(parts)


def _packed(bits: np.ndarray) -> np.ndarray:
    """Rows of bits as rows of words."""
    rows, count = bits.shape
    words = -(-count // r.WORD)
    padded = np.zeros((rows, words * r.WORD), bool)
    padded[:, :count] = bits
    wide = np.zeros((rows, words, 64), bool)
    wide[:, :, : r.WORD] = padded.reshape(rows, words, r.WORD)
    return np.packbits(wide, axis=2, bitorder="little").view(np.int64)[:, :, 0]
