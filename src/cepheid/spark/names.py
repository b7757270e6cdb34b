"""Column names in the form that Spark accepts."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cepheid.pattern.expressions.paths import Path


def quote(name: str) -> str:
    """Quote a column name, which may contain dots, spaces or backticks."""
    return "`" + name.replace("`", "``") + "`"


def column_named(name: str) -> Column:
    """Return the column that has exactly this name."""
    return F.col(quote(name))


def column_at(path: Path) -> Column:
    """Return a column, or a field of a struct in it."""
    return F.col(".".join(map(quote, path)))


def rename_for_python(df: DataFrame) -> DataFrame:
    """Rename columns with dots or backticks, which Spark itself cannot resolve when it sends them to Python."""
    if not any(set(name) & {".", "`"} for name in df.columns):
        return df
    return df.toDF(*(f"__cepheid_c{k}" if set(name) & {".", "`"} else name for k, name in enumerate(df.columns)))
