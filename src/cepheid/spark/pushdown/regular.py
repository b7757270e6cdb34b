"""RLIKE in Spark: regular expressions that Java and the engine read alike, on texts on which they do."""

from __future__ import annotations

import re

from pyspark.sql import functions as F

from cepheid.pattern.expressions.types import BOOL
from cepheid.spark.pushdown.computed import Computed, Doubt
from cepheid.spark.pushdown.predicate import NotPushable

_ESCAPED = re.compile(r"\\.", re.DOTALL)
_CLASS = re.compile(r"\[\^?[^\]]*\]")
_REPEATED_GROUP = re.compile(r"\)[*+{]")


def found_in(of: Computed, pattern: str, text: str) -> Computed:
    """Whether a regular expression is found in a text."""
    if _REPEATED_GROUP.search(_CLASS.sub("", _ESCAPED.sub("", pattern))):
        raise NotPushable("Java's stack overflows where a group is repeated very often")
    return Computed(text, BOOL, lambda: of.column().rlike(pattern), (*of.doubts, outside_ascii(of)))


def outside_ascii(of: Computed) -> Doubt:
    """Texts that have characters outside ASCII."""
    return Doubt("a text with characters outside ASCII", lambda: F.octet_length(of.column()) != F.length(of.column()))
