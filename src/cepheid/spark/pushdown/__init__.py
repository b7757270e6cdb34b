"""Pushdown: rows and columns that cannot change a match are dropped before they are sent to Python.

The conditions of a query become a small tree of predicates. The tree is translated twice, for Spark and for pyarrow;
what is computed of a row is tested by Spark only. A row that is dropped is in no match and contradicts no negation, so
the matches stay the same.
"""

from cepheid.spark.pushdown.derive import Pushdown, derive_pushdown

__all__ = ["Pushdown", "derive_pushdown"]
