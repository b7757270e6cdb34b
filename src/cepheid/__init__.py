"""Complex event processing for Python: patterns over streams of events."""

from typing import TYPE_CHECKING

from cepheid.api import (
    Aggregate,
    Changes,
    ChangeSession,
    ManyMatches,
    Matches,
    Progress,
    Queries,
    Query,
    Session,
    Stats,
    add_query,
    remove_query,
    replace_query,
)
from cepheid.builder import (
    Automaton,
    Column,
    Draft,
    Pattern,
    Stream,
    Variable,
    add_arc,
    any_order,
    automaton,
    avg,
    call,
    col,
    collect,
    count,
    count_distinct,
    distinct,
    duration,
    either,
    event,
    filtered,
    iterate,
    lit,
    match_id,
    median,
    param,
    percentile,
    program,
    remove_arc,
    seq,
    stddev,
    stream,
    var,
    when,
)

# Not in __all__: `from cepheid import *` must not hide built-ins and other common names.
from cepheid.builder import add as add
from cepheid.builder import all as all
from cepheid.builder import any as any
from cepheid.builder import first as first
from cepheid.builder import last as last
from cepheid.builder import max as max
from cepheid.builder import min as min
from cepheid.builder import rename as rename
from cepheid.builder import sum as sum
from cepheid.errors import (
    BindError,
    CepheidError,
    CepheidWarning,
    EvaluationError,
    FileError,
    InputError,
    ParseError,
    PatternError,
    UsageError,
)

if TYPE_CHECKING:
    from cepheid import spark as spark

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Import `cepheid.spark` on first use: it needs pyspark, which is an extra."""
    if name == "spark":
        from importlib import import_module

        return import_module("cepheid.spark")
    raise AttributeError(f"module 'cepheid' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The API, without the modules that it is made of."""
    return sorted([*__all__, "add", "all", "any", "first", "last", "max", "min", "rename", "spark", "sum"])


__all__ = [
    "Aggregate",
    "Automaton",
    "BindError",
    "CepheidError",
    "CepheidWarning",
    "ChangeSession",
    "Changes",
    "Column",
    "Draft",
    "EvaluationError",
    "FileError",
    "InputError",
    "ManyMatches",
    "Matches",
    "ParseError",
    "Pattern",
    "PatternError",
    "Progress",
    "Queries",
    "Query",
    "Session",
    "Stats",
    "Stream",
    "UsageError",
    "Variable",
    "__version__",
    "add_arc",
    "add_query",
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
    "iterate",
    "lit",
    "match_id",
    "median",
    "param",
    "percentile",
    "program",
    "remove_arc",
    "remove_query",
    "replace_query",
    "seq",
    "stddev",
    "stream",
    "var",
    "when",
]
