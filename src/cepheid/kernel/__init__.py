"""Generated source, compiled by numba where that pays; the match store."""
