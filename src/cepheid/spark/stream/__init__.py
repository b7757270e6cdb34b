"""Queries on streaming DataFrames.

A stream runs in three steps: events are packed into blobs, one for each bucket of keys; a stateful operator runs the
buckets; its matches are unpacked. Rows cross into the operator as a few blobs, because it would loop over them one by
one in Python. Only this package knows which operator that is.
"""

from cepheid.spark.stream.buckets import bucket_count
from cepheid.spark.stream.checkpoint import pending
from cepheid.spark.stream.pipeline import match
from cepheid.spark.stream.refusals import changes, refusals

__all__ = ["bucket_count", "changes", "match", "pending", "refusals"]
