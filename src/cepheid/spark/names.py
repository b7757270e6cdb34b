"""Names of columns as Spark takes them."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


def quoted(name: str) -> str:
    """A column name that may have dots or spaces."""
    return "`" + name.replace("`", "``") + "`"


def named(name: str) -> Column:
    """A column by its name, whatever that is."""
    return F.col(quoted(name))


def crossing(df: DataFrame) -> DataFrame:
    """A DataFrame whose columns can cross into Python: there Spark itself can't find names with dots or backticks."""
    if not any(set(name) & {".", "`"} for name in df.columns):
        return df
    return df.toDF(*(f"__cepheid_c{k}" if set(name) & {".", "`"} else name for k, name in enumerate(df.columns)))
