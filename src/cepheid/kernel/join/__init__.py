"""A join as kernels: events go into stacks, are grouped by lane, and matches are constructed from them."""
