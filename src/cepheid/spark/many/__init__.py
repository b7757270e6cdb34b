"""Many queries on Spark: the embedded engine runs in each bucket of events, and every match is found in one of them.

`split` says how the events are divided for which rules, `placing` makes columns of that, `shipped` takes the rules to
the workers, and `worker` is what runs there.

A stream is `stream`: what a stream of one query is, with buckets of `bucket`, which hold sessions of their rules.
`steady` and `arranged` say which bucket a value or a rule is in, whatever others there are; `changes` decides about
rows of a control stream, and `book` is what is known of them.
"""

from cepheid.spark.many.entry import explain_many, match_many

__all__ = ["explain_many", "match_many"]
