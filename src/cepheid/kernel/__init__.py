"""Generated code: scans and joins as trees, as plain Python and as machine code; the match store."""
