"""The rows of the bench on Spark: each gives its figures."""

from collections.abc import Callable, Iterable

from bench.harness import Figure
from bench.spark.options import Options
from bench.spark.rows.boundaries import boundaries
from bench.spark.rows.changes import changes
from bench.spark.rows.computed import computed
from bench.spark.rows.direct import direct
from bench.spark.rows.keyed import cesar, keyed
from bench.spark.rows.many import many
from bench.spark.rows.pushdown import pushdown
from bench.spark.rows.slices import slices
from bench.spark.rows.streaming import big_state, flat, streaming
from bench.spark.rows.today import today

ROWS: dict[str, Callable[[Options], Iterable[Figure]]] = {
    "keyed": keyed,
    "cesar": cesar,
    "many": many,
    "direct": direct,
    "pushdown": pushdown,
    "computed": computed,
    "today": today,
    "slices": slices,
    "stream": streaming,
    "changes": changes,
    "flat": flat,
    "state": big_state,
    "bytes": boundaries,
}

__all__ = ["ROWS"]
