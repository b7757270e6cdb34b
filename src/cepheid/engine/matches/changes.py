"""Changes: the matches that a call has added, and those that it has retracted (S15)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.content_keys import grouped, mixed
from cepheid.engine.matches.difference import Keyed, MatchSelection, counted_in, gathered
from cepheid.engine.matches.matches import Matches, require
from cepheid.engine.matches.pandas_frame import to_frame
from cepheid.engine.matches.shown import HTML_ROWS, ROWS, as_html, as_text
from cepheid.errors import CepheidError, PatternError
from cepheid.pattern.binding.schema import MATCH_ID
from cepheid.values.value import Value

if TYPE_CHECKING:
    import pandas
    import polars

OP = "op"
ADDED, REMOVED = "+", "-"


@dataclass(frozen=True, eq=False)
class Difference:
    """What a call changes of the matches of one query. kept: those that may have equal ones among the others."""

    removed: MatchSelection
    added: MatchSelection
    kept: Sequence[Keyed]
    nothing: Matches


class Changes:
    """What a call has changed: `added` and `removed` matches.

    final: a time before which no change to come has its `match_end`; None while there is no watermark.
    outputs: those of every query of a program by the name of its INTO; these are the last query's.
    """

    def __init__(self, difference: Difference, final: object, outputs: Mapping[str, Changes] | None = None) -> None:
        self._difference = difference
        self.final = final
        self.outputs: Mapping[str, Changes] = outputs or {}

    @cached_property
    def _added(self) -> tuple[Matches, np.ndarray | slice]:
        return gathered(self._difference.added, self._difference.nothing)

    @cached_property
    def _removed(self) -> tuple[Matches, np.ndarray | slice]:
        return gathered(self._difference.removed, self._difference.nothing)

    @property
    def added(self) -> Matches:
        """The matches that are new, in the order of their ends."""
        return self._added[0]

    @property
    def removed(self) -> Matches:
        """The matches that were emitted before and are retracted, in the order of their ends."""
        return self._removed[0]

    def __len__(self) -> int:
        return len(self._difference.added) + len(self._difference.removed)

    def __iter__(self) -> Iterator[dict[str, Value]]:
        yield from ({OP: REMOVED, **row} for row in self.removed)
        yield from ({OP: ADDED, **row} for row in self.added)

    def to_pylist(self) -> list[dict[str, Value]]:
        """A dict per change: `op`, `match_start`, `match_end`, and the variables or the RETURN columns."""
        return list(self)

    def to_arrow(self, *, ids: bool = False) -> pa.Table:
        """One row a change, `op` first: those that are retracted, then those that are new.

        ids: also `match_id`, the same for a match when it is added and when it is retracted.
        """
        parts = []
        for op, (matches, order), selected in (
            (REMOVED, self._removed, self._difference.removed),
            (ADDED, self._added, self._difference.added),
        ):
            table = matches.to_arrow()
            if ids:
                _check_free(table)
                known = pa.array(self._ids(selected, order), pa.string())
                table = table.add_column(0, pa.field(MATCH_ID, pa.string()), known)
            parts.append(_with_op(table, op))
        if not parts[0].num_rows:
            return parts[1]
        return parts[0] if not parts[1].num_rows else pa.concat_tables(parts, promote_options="permissive")

    def _ids(self, selected: MatchSelection, order: np.ndarray | slice) -> list[str]:
        """What identifies each match: its row, and how many equal rows stood before it."""
        keys = selected.keys
        ranks = counted_in(keys, self._difference.kept)
        ranks += _places(keys) if selected.ranks is None else selected.ranks
        words = mixed(keys, ranks.astype(np.uint64))[:, order]
        return [f"{row_hash:016x}{occurrence:016x}" for row_hash, occurrence in zip(*words.tolist(), strict=True)]

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas DataFrame; needs pandas."""
        require("pandas")
        return to_frame(self.to_arrow())

    def to_polars(self) -> polars.DataFrame:
        """A polars DataFrame; needs polars."""
        require("polars")
        import polars

        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def __repr__(self) -> str:
        first = self._first(ROWS)
        if first is None:
            return f"<{self._counted}: {', '.join([OP, *self.added.query.match_schema().names])}>"
        return as_text(f"<{self._counted}>", first, more=self._count > ROWS)

    def _repr_html_(self) -> str:
        first = self._first(HTML_ROWS)
        if first is None:
            return f"<p>{escape(repr(self))}</p>"
        shown = as_html(self._counted, first, more=self._count > HTML_ROWS)
        return shown + self.added.timeline().svg if self._difference.added.count() else shown

    def _first(self, wanted: int) -> pa.Table | None:
        """The first changes, also if there are too many to enumerate; None if there are none."""
        if not self._count:
            return None
        try:
            removed = _with_op(self.removed.head(wanted).to_arrow(), REMOVED)
            added = _with_op(self.added.head(wanted - removed.num_rows).to_arrow(), ADDED)
        except CepheidError:  # such as one of a user's function: whoever asks for the changes gets it
            return None
        return pa.concat_tables([removed, added], promote_options="permissive")

    @property
    def _count(self) -> int:
        """How many there are; they are not enumerated for it."""
        return self._difference.removed.count() + self._difference.added.count()

    @property
    def _counted(self) -> str:
        """How many there are, in words."""
        return f"{self._count} change{'s' * (self._count != 1)}" if self._count else "no changes"


def _check_free(table: pa.Table) -> None:
    if MATCH_ID in table.column_names:
        remedy = "leave it out of RETURN, or rename it with AS"
        raise PatternError("CEP212", f"every change already has a column '{MATCH_ID}'", remedy)


def _with_op(table: pa.Table, op: str) -> pa.Table:
    return table.add_column(0, pa.field(OP, pa.string()), pa.array([op] * table.num_rows, pa.string()))


def _places(keys: np.ndarray) -> np.ndarray:
    """How many equal keys are before each."""
    order, group = grouped(keys)
    if not len(order):
        return np.zeros(0, np.int64)
    counts = np.bincount(group)
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order)) - np.concatenate([[0], np.cumsum(counts)[:-1]])[group]
    return places
