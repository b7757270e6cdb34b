"""Events in files: Parquet, CSV and JSON lines, one file, all of a folder, or those of a pattern."""
