"""The query languages: each turns its tree and a schema into one frozen value, a `Runnable`.

No room to the right asks which language a query is of; where languages differ there is a table that is keyed by it.

`fronts` is the table of languages: `analyse` resolves names and checks what needs no schema (`analysed`), `bind` adds
the schema. `sase` is the PATTERN clause, `automata` are those that users write, `cesar` the expressions of the algebra.
A language has a `Body`: what runs, and how facts of the query follow from it (`runnable`). `templates` makes one query
of many rules.
"""
