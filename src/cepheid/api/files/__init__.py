"""Events in files: Parquet, CSV and JSON lines. A path is one file, a folder, or a glob pattern."""
