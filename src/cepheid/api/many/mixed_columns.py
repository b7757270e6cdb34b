"""Rules as a list of dicts: a column may have values of several types, and each rule is read with its own (S23)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from cepheid.api.events import column_of
from cepheid.api.many.problems import Problems
from cepheid.api.readable import UNREADABLE, readable, unreadable
from cepheid.engine.encoding.arrow import from_numpy
from cepheid.errors import InputError

_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Mixed:
    """A column that has values of several types.

    parts: the values of each type, NULL in the place of others, that of most rules first. part: of each rule, by row.
    wrong: rows whose value can't be in any column, with the reason.
    """

    parts: tuple[pa.ChunkedArray, ...]
    part: np.ndarray
    wrong: tuple[tuple[int, InputError], ...]


@dataclass(frozen=True)
class RuleTable:
    """Rules as columns; of those in `mixed` the table has the values of the type that most rules have."""

    table: pa.Table
    mixed: dict[str, Mixed] = field(default_factory=dict)

    def tell_others(self, name: str, code: str, problems: Problems) -> None:
        """Refuse all values that are not of the type that most rules have."""
        if name not in self.mixed:
            return
        column = self.mixed[name]
        self.tell_wrong([name], np.arange(self.table.num_rows), problems)
        for row in np.flatnonzero(column.part > 0).tolist():
            value = repr(column.parts[column.part[row]][row].as_py())[:_SHOWN]
            message = f"column '{name}' has {value} of type {column.parts[column.part[row]].type}"
            remedy = f"give '{name}' values of one type: most rules have {column.parts[0].type}"
            problems.add([row], InputError(code, message, remedy))

    def tell_wrong(self, names: Sequence[str], rows: np.ndarray, problems: Problems) -> None:
        """What is wrong with values of some columns, in some rows."""
        wanted = set(rows.tolist()) if self.mixed else set()
        for name in names:
            for row, error in self.mixed[name].wrong if name in self.mixed else ():
                if row in wanted:
                    problems.add([row], error)

    def alike(self, names: Sequence[str], rows: np.ndarray) -> Iterator[tuple[np.ndarray, pa.Table]]:
        """Some rows, by the types that they have in some columns."""
        mixed = [name for name in names if name in self.mixed]
        of_each = np.zeros(len(rows), np.int64)
        for name in mixed:
            column = self.mixed[name]
            _, of_each = np.unique(of_each * len(column.parts) + column.part[rows], return_inverse=True)
        for kind in range(int(of_each.max(initial=-1)) + 1):
            same, table = rows[of_each == kind], self.table
            for name in mixed:
                column = self.mixed[name]
                table = table.set_column(table.column_names.index(name), name, column.parts[column.part[same[0]]])
            yield same, table if len(same) == table.num_rows else table.take(from_numpy(same))


class ColumnReader:
    """Reads columns of Python values, and keeps what is mixed among them."""

    def __init__(self) -> None:
        self.mixed: dict[str, Mixed] = {}

    def __call__(self, name: str, values: list[object]) -> pa.Array | pa.ChunkedArray:
        """A column, with the values of the type that most of them have."""
        try:
            return column_of(name, values)
        except InputError:
            pass
        types, wrong = _types(name, values)
        try:
            self.mixed[name] = _mixed(name, values, [_family(kind) for kind in types], wrong)
        except InputError:  # such as integers that no double is
            self.mixed[name] = _mixed(name, values, types, wrong)
        return self.mixed[name].parts[0]


def _types(name: str, values: list[object]) -> tuple[list[str], list[tuple[int, InputError]]]:
    """The type of each value alone, "" for NULL, and those that can't be read."""
    types: list[str] = []
    wrong: list[tuple[int, InputError]] = []
    for row, value in enumerate(values):
        try:
            types.append("" if value is None else str(column_of(name, [value]).type))
        except InputError:
            types.append("")
            wrong.append((row, _unreadable(name, value)))
    return types, wrong


def _unreadable(name: str, value: object) -> InputError:
    try:
        pa.array([value])
    except UNREADABLE as error:
        shown = repr(value)[:_SHOWN]
        if isinstance(value, int | str):
            return unreadable(name, error, f", {shown},")
        message = f"column '{name}' can't hold {shown}: {str(error).splitlines()[0]}"
        return InputError("CEP403", message, f"give '{name}' a value of one type")
    raise AssertionError


def _family(type_: str) -> str:
    """What decides whether values can be in one column: whole numbers can be among others."""
    return "double" if type_ == "int64" else type_


def _mixed(name: str, values: list[object], types: list[str], wrong: list[tuple[int, InputError]]) -> Mixed:
    known = [kind for kind, _ in Counter(filter(None, types)).most_common()] or [""]
    parts = []
    for kind in known:
        values_of_kind = [value if kind and type_ == kind else None for value, type_ in zip(values, types, strict=True)]
        parts.append(readable(pa.table({name: column_of(name, values_of_kind)})).column(0))
    numbers = {"": 0} | {kind: number for number, kind in enumerate(known)}  # a NULL can be in any
    part = np.array([numbers[type_of_value] for type_of_value in types], np.int64)
    return Mixed(tuple(parts), part, tuple(wrong))
