"""Many queries on Spark: the embedded engine runs in each bucket of events, and every match is found in one of them.

`split` says how the events are divided for which rules, `placing` makes columns of that, `shipped` takes the rules to
the workers, and `worker` is what runs there.
"""

from cepheid.spark.many.entry import explain_many, match_many

__all__ = ["explain_many", "match_many"]
