"""From a bound query to its plan.

`compiled_query` keeps what is made of a query once. `sample` collects statistics of the stream, `candidates` lists
the plans, `invariants` checks each, and `decision` estimates their costs and chooses one. The rest is about queries
that change: arcs with lifetimes (`lifetimes`), and other constants with the same code (`renewed`).
"""
