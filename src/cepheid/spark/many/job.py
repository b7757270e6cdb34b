"""Many queries on a DataFrame, before anything runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from cepheid.engine.many.rules import RuleSet
from cepheid.errors import UsageError, did_you_mean
from cepheid.spark.many.options import ManyOptions
from cepheid.spark.many.split import RuleSplit

if TYPE_CHECKING:
    import pyarrow as pa

    from cepheid.api import Queries


@dataclass(frozen=True)
class ManyJob:
    """Queries on a DataFrame: the rules that fit it, and how its events are divided for them."""

    df: DataFrame
    queries: Queries
    rules: RuleSet
    ways: list[RuleSplit]
    events: pa.Schema
    options: ManyOptions

    @property
    def buckets(self) -> int:
        """How many buckets there are."""
        return sum(way.buckets for way in self.ways)


def of_output(rules: RuleSet, output: str | None) -> RuleSet:
    """The rules of one template."""
    if output is None:
        return rules
    names = [str(template.name) for template in rules.templates if template.name is not None]
    if output not in names:
        raise UsageError("CEP603", f"there is no template {output!r}", did_you_mean(output, names, "templates"))
    return replace(rules, rules=tuple(r for r in rules.rules if str(rules.templates[r.template].name) == output))
