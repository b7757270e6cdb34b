"""The engine on Spark: against the identity, against what a Spark user writes today, and what each boundary costs.

    python -m bench.spark [ROW ...] [--quick]

Ratios of one run on `local[2]`; Parquet in, matches counted. `rows/` has one file for each row.
"""
