"""The types of a kernel's values. Every integer has a width and a sign, as the machine's have."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scalar:
    """The type of one value. `name` is numpy's name of it."""

    name: str
    bits: int
    signed: bool = False
    real: bool = False

    @property
    def whole(self) -> bool:
        """Whether it is an integer."""
        return not self.real and self.bits > 1

    def __str__(self) -> str:
        return self.name


INT64 = Scalar("int64", 64, signed=True)
INT32 = Scalar("int32", 32, signed=True)
INT16 = Scalar("int16", 16, signed=True)
UINT64 = Scalar("uint64", 64)
UINT32 = Scalar("uint32", 32)
UINT16 = Scalar("uint16", 16)
UINT8 = Scalar("uint8", 8)
FLOAT64 = Scalar("float64", 64, signed=True, real=True)
BOOL = Scalar("bool", 1)

SCALARS = {t.name: t for t in (INT64, INT32, INT16, UINT64, UINT32, UINT16, UINT8, FLOAT64, BOOL)}
