"""Direct Parquet: tasks read the files of a plain scan themselves, so that events never cross from the JVM to Python.

They pack what they read into blobs, one for each bucket of keys. The blobs are shuffled, and one task matches each
bucket.
"""

from cepheid.spark.parquet.assign import DirectScan, find_direct_scan
from cepheid.spark.parquet.pipeline import match_files

__all__ = ["DirectScan", "find_direct_scan", "match_files"]
