"""The constants of many texts as columns: what each stands for at its place, without parsing it again."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property

import numpy as np
import pyarrow as pa

from cepheid.errors import CepheidError
from cepheid.language.lexis import text_of
from cepheid.language.parser import parse_expression
from cepheid.language.texts.skeleton import Spelling, spellings
from cepheid.pattern.expressions import types
from cepheid.pattern.expressions.durations import NANOSECONDS, UNITS
from cepheid.pattern.expressions.nodes import Literal
from cepheid.pattern.expressions.timestamps import read_timestamp
from cepheid.pattern.expressions.types import Kind, Type
from cepheid.values.value import Value

_SIGNS = re.compile(r"[-\s(]*")
_CLOSED = re.compile(r"[\s)]*")
_NUMBERS = {Spelling.INTEGER: types.INT, Spelling.DECIMAL: types.FLOAT, Spelling.EXPONENT: types.FLOAT}


@dataclass(frozen=True, slots=True)
class ConstantReader:
    """How constants at one place are read: by what is written before and after them, and by their spelling."""

    before: str
    after: str
    spelling: Spelling

    def read(self, constant: str) -> Literal | None:
        """What the parser would make of it; None for what it would refuse, or not make a constant."""
        sign = self.sign
        if sign is not None:
            if self.spelling is Spelling.STRING:
                return Literal(text_of(constant), types.STRING)
            if self.spelling is Spelling.INTEGER:
                return Literal(sign * int(constant), types.INT)
            return Literal(sign * float(constant), types.FLOAT)
        try:
            return self._by_words(constant)
        except (ValueError, OverflowError, CepheidError):
            return None

    @property
    def sign(self) -> int | None:
        """Of a constant that stands for itself: 1, or -1 if signs before it make it negative; None for others."""
        if self.spelling is Spelling.OTHER or not _SIGNS.fullmatch(self.before) or not _CLOSED.fullmatch(self.after):
            return None
        if self.spelling is Spelling.STRING:
            return None if self.before or self.after else 1
        return None if "--" in self.before else (-1) ** self.before.count("-")

    def _by_words(self, constant: str) -> Literal | None:
        word, unit = self.before.strip().upper(), self.after.strip().casefold()
        if word == "DATE" and not unit:
            return Literal((date.fromisoformat(text_of(constant)) - date(1970, 1, 1)).days, types.DATE)
        if word == "TIMESTAMP" and not unit:
            moment, zoned = read_timestamp(text_of(constant))
            if abs(moment) >= 2**63:
                return None  # no column of nanoseconds has it
            return Literal(moment, types.timestamp("UTC" if zoned else None, types.unit_for(moment)))
        if not word and unit == "%":
            return Literal(float(Decimal(constant) / 100), types.FLOAT)
        if not word and unit in UNITS:
            length = Decimal(constant) * NANOSECONDS[UNITS[unit]]
            if length >= 2**63 or length != int(length):
                return None
            return Literal(int(length), types.duration(types.unit_for(int(length))))
        expression = parse_expression(self.before + constant + self.after)
        return expression if isinstance(expression, Literal) else None


class TextConstants:
    """Each different constant of some texts, by its number."""

    def __init__(self, written: Sequence[str]) -> None:
        self.written = written
        self.spellings = spellings(written)
        self._read: dict[ConstantReader, dict[int, Literal | None]] = {}

    @cached_property
    def _integers(self) -> np.ndarray:
        return self._as(np.int64, int, Spelling.INTEGER)

    @cached_property
    def _floats(self) -> np.ndarray:
        return self._as(np.float64, float, Spelling.DECIMAL, Spelling.EXPONENT)

    @cached_property
    def _strings(self) -> pa.Array:
        quoted = self.spellings == Spelling.STRING
        texts = (text_of(c) if q else None for c, q in zip(self.written, quoted.tolist(), strict=True))
        return pa.array(texts, pa.string())

    def _as(self, dtype: type[np.generic], read: Callable[[str], object], *spellings: Spelling) -> np.ndarray:
        values = np.zeros(len(self.written), dtype)
        places = np.flatnonzero(np.isin(self.spellings, spellings))
        values[places] = [read(self.written[place]) for place in places.tolist()]
        return values

    def literal(self, reader: ConstantReader, code: int) -> Literal | None:
        """What one constant stands for."""
        read = self._read.setdefault(reader, {})
        if code not in read:
            read[code] = reader.read(self.written[code])
        return read[code]

    def types(self, reader: ConstantReader, codes: np.ndarray) -> tuple[list[str | None], np.ndarray]:
        """The types that constants have at a place, and for each constant which of them; None: it can't be read.

        Durations and moments are of one type each, whatever the finest of their units.
        """
        if reader.sign is not None:
            return [_kind(_NUMBERS.get(reader.spelling, types.STRING))], np.zeros(len(codes), np.int64)
        distinct, of_each = np.unique(codes, return_inverse=True)
        read = [self.literal(reader, code) for code in distinct.tolist()]
        kinds = [None if literal is None else _kind(literal.type) for literal in read]
        known = list(dict.fromkeys(kinds))
        return known, np.array([known.index(kind) for kind in kinds], np.int64)[of_each]

    def column(self, reader: ConstantReader, codes: np.ndarray) -> pa.Array:
        """The constants at a place, all of one type."""
        sign = reader.sign
        if sign is not None:
            if reader.spelling is Spelling.STRING:
                return self._strings.take(pa.array(codes))
            values = self._integers if reader.spelling is Spelling.INTEGER else self._floats
            return pa.array(sign * values[codes])
        distinct, of_each = np.unique(codes, return_inverse=True)
        read = [self.literal(reader, code) for code in distinct.tolist()]
        return as_array([literal for literal in read if literal is not None]).take(pa.array(of_each))


def _kind(type_: Type) -> str:
    """What decides whether constants can be in one column."""
    zone = types.zone_of(type_) if type_.kind is Kind.TIMESTAMP else None
    return f"{type_.kind.name} {zone or ''}"


def as_array(literals: Sequence[Literal]) -> pa.Array:
    """Constants of one kind as a column, in the finest of their units."""
    type_ = literals[0].type.arrow
    values: list[Value] = [literal.value for literal in literals]
    if pa.types.is_timestamp(type_) or pa.types.is_duration(type_):
        fine = any(literal.type.arrow.unit == "ns" for literal in literals)
        zone = (type_.tz,) if pa.types.is_timestamp(type_) else ()
        type_ = (pa.timestamp if zone else pa.duration)("ns" if fine else "us", *zone)
        values = [value if fine else value // 1000 for value in values]
        return pa.array(values, pa.int64()).cast(type_)
    if pa.types.is_date(type_):
        return pa.array(values, pa.int32()).cast(type_)
    return pa.array(values, type_)


def as_literal(column: pa.Array, row: int) -> Literal:
    """A constant of a column as the parser would return it."""
    type_ = column.type
    if pa.types.is_timestamp(type_) or pa.types.is_duration(type_):
        value = column[row].cast(pa.int64()).as_py() * (1 if type_.unit == "ns" else 1000)
        if pa.types.is_duration(type_):
            return Literal(value, types.duration(types.unit_for(value)))
        return Literal(value, types.timestamp(type_.tz, types.unit_for(value)))
    if pa.types.is_date(type_):
        return Literal(column[row].cast(pa.int32()).as_py(), types.DATE)
    return Literal(column[row].as_py(), types.from_arrow(type_))
