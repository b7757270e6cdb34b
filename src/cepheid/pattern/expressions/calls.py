"""Which functions there are, and what to write in place of one that there is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cepheid.errors import BindError, nearest
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.casts import CAST_FUNCTIONS
from cepheid.pattern.expressions.functions import BUILT_IN
from cepheid.pattern.tree.nodes import QueryTree
from cepheid.pattern.tree.uses import RANGES, uses
from cepheid.pattern.tree.walk import expressions, walk

MATCHING = ("rlike", "regexp", "regexp_like")
"""RLIKE, written as a function."""

_LIKENESS = 0.7  # short names are soon alike
# What functions are called elsewhere, and what to write here.
_ELSEWHERE = {
    **dict.fromkeys(("mean", "average"), "avg(a[].x)"),
    **dict.fromkeys(("std", "stdev", "stddev_samp"), "stddev(a[].x)"),
    **dict.fromkeys(("array_agg", "collect_list", "list_agg", "listagg", "string_agg"), "collect(a[].x)"),
    **dict.fromkeys(("collect_set", "nunique", "count_distinct", "approx_count_distinct"), "count(DISTINCT a[].x)"),
    **dict.fromkeys(
        ("quantile", "percentile_cont", "percentile_approx", "approx_percentile"), "percentile(a[].x, 0.9)"
    ),
    **dict.fromkeys(("first_value", "any_value"), "first(a[].x)"),
    **dict.fromkeys(("last_value",), "last(a[].x)"),
    **dict.fromkeys(("lag", "prev", "shift"), "a[i-1].x, of the event before a[i] in a Kleene variable"),
    **dict.fromkeys(
        ("len", "size", "cardinality"), "a.LEN for the number of events, length(a.s) for that of characters"
    ),
    **dict.fromkeys(("char_length", "character_length"), "length(a.s)"),
    **dict.fromkeys(("ucase", "toupper"), "upper(a.s)"),
    **dict.fromkeys(("lcase", "tolower"), "lower(a.s)"),
    **dict.fromkeys(("substr", "mid", "left"), "substring(a.s, 1, 3)"),
    **dict.fromkeys(("position", "locate", "charindex", "strpos"), "instr(a.s, 'x')"),
    **dict.fromkeys(("ifnull", "isnull", "nvl", "fillna"), "coalesce(a.x, 0), or a.x IS NULL"),
    **dict.fromkeys(("if", "iif", "iff", "decode"), "CASE WHEN a.x > 1 THEN 'high' ELSE 'low' END"),
    **dict.fromkeys(("ceiling",), "ceil(a.x)"),
    **dict.fromkeys(("pow",), "power(a.x, 2)"),
    **dict.fromkeys(("log",), "ln(a.x)"),
    **dict.fromkeys(("mod",), "a.x % 2"),
    **dict.fromkeys(("to_timestamp", "to_date", "try_cast", "convert"), "CAST(a.s AS TIMESTAMP)"),
    **dict.fromkeys(
        ("datediff", "date_diff", "timestampdiff", "timediff", "age"),
        "b.ts - a.ts, a duration, and compare it with one: b.ts - a.ts < 10 minutes",
    ),
    **dict.fromkeys(("extract",), "date_part('hour', a.ts), or EXTRACT(HOUR FROM a.ts)"),
    **dict.fromkeys(("date_add", "dateadd", "timestampadd", "date_sub"), "a.ts + 10 minutes"),
    **dict.fromkeys(
        ("now", "current_timestamp", "getdate"),
        "a.ts, the time of an event, or a parameter: a query has no present",
    ),
    **dict.fromkeys(("exists",), "the event into the pattern: SEQ(A a, B b), or SEQ(A a, !(B b)) for none"),
}


def check_calls(query: QueryTree, functions: Mapping[str, Callable[..., object]]) -> None:
    """Raise if a query calls a function that there is not."""
    for node in (node for expression in expressions(query) for node in walk(expression)):
        if isinstance(node, ex.Call) and node.function not in functions:
            name = node.function.lower()
            if name not in BUILT_IN and name not in CAST_FUNCTIONS and name not in MATCHING:
                raise unknown_function(node, functions)


def unknown_function(node: ex.Call, functions: Mapping[str, Callable[..., object]]) -> BindError:
    """The error for a function that there is not, with what may have been meant."""
    message, instead = f"unknown function '{node.function}'", _ELSEWHERE.get(node.function.lower())
    if instead is not None:
        return BindError("CEP303", message, f"write {instead}", node.span)
    over = any(use.index in RANGES for use in uses(node))
    close = nearest(node.function, [*functions, *ex.AGGREGATES, *(() if over else BUILT_IN)], _LIKENESS)
    meant = "" if close is None else f"did you mean '{close}'? Or "
    value = "cep.Aggregate(start=…, step=…)" if over else "…"
    return BindError("CEP303", message, f"{meant}pass your own: functions={{'{node.function}': {value}}}", node.span)
