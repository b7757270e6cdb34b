"""What a query says, as trees of frozen values, and what can be checked and derived from them before it runs.

`tree` and `expressions` are what the readers and the builder make, `algebra` the same for CESAR. `binding` is the
schema of the events and the types of expressions on it. `lints` warns of queries that are valid but likely to surprise.

Syntactic sugar ends here: later rooms see few kinds of nodes.
"""
