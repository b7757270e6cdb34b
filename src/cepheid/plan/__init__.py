"""Which plans a query could be run by, and what each would cost.

A query is run by its automaton, or as a join of stacks if it has that form (`join`). `bounds` finds conditions that
limit a search in a stack. `taken` and `implied` say which events a query can use. `statistics` holds what a sample of
the stream has shown, and `cost` estimates a plan from that. The choice is made in `cepheid.engine.planning`.
"""
