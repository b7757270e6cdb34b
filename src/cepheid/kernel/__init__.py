"""Generated code: kernels over columns, which run as plain Python or as machine code.

`code` is a small typed language for kernels. `scan` generates the kernel of an automaton in it, `join` those of a
join; `expressions` translates the expressions of a query, with their NULLs. Modules named `shared_…` are the kernels
of the tables that many rules share. Constants of a query are arguments of its kernel, so that queries that differ
only in constants share machine code.

Functions that do not depend on a query, such as those of the match store, are written as Python and compiled as they
are. `compile` makes machine code and caches it.
"""
