"""What a query says, as trees of frozen values, and what can be checked and derived from them before it runs.

`tree` and `expressions` are what the readers and the builder make. `binding` checks a tree and, with the schema of
the events, turns it into one typed value. `automata` and `algebra` are the same for the other two query languages,
`templates` for one query that many rules share. `lints` warns of queries that are valid but likely to surprise.

Syntactic sugar ends here: later rooms see few kinds of nodes.
"""
