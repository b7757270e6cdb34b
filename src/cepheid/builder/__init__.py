"""Queries written in Python: functions and methods that make the same pattern tree as the text.

>>> from cepheid import builder as cep
>>> a, b = cep.var("a"), cep.var("b")
>>> rise = cep.seq(cep.event("Stock", a).one_or_more(), cep.event("Stock", b)).same("symbol")
>>> print(rise.where(a.current.price > a.previous.price, b.volume < 0.8 * a.last.volume).within("1 hour"))
PATTERN SEQ(Stock+ a[], Stock b)
WHERE [symbol]
  AND a[i].price > a[i-1].price
  AND b.volume < 0.8 * a[a.LEN].volume
WITHIN 1 hour
"""

from cepheid.builder.algebra import Step, Stream, add, duration, iterate, rename, stream
from cepheid.builder.automata import Automaton, automaton
from cepheid.builder.changes import add_arc, remove_arc
from cepheid.builder.columns import Column, col, lit, param
from cepheid.builder.drafts import Draft, program
from cepheid.builder.functions import (
    Conditional,
    all,
    any,
    avg,
    call,
    collect,
    count,
    count_distinct,
    distinct,
    filtered,
    first,
    last,
    match_id,
    max,
    median,
    min,
    percentile,
    stddev,
    sum,
    when,
)
from cepheid.builder.patterns import Pattern, any_order, either, event, seq
from cepheid.builder.variables import Events, Variable, var

__all__ = [
    "Automaton",
    "Column",
    "Conditional",
    "Draft",
    "Events",
    "Pattern",
    "Step",
    "Stream",
    "Variable",
    "add",
    "add_arc",
    "all",
    "any",
    "any_order",
    "automaton",
    "avg",
    "call",
    "col",
    "collect",
    "count",
    "count_distinct",
    "distinct",
    "duration",
    "either",
    "event",
    "filtered",
    "first",
    "iterate",
    "last",
    "lit",
    "match_id",
    "max",
    "median",
    "min",
    "param",
    "percentile",
    "program",
    "remove_arc",
    "rename",
    "seq",
    "stddev",
    "stream",
    "sum",
    "var",
    "when",
]
