"""One model of automata for all query languages, and what builds it.

`model` defines it: configs, states, arcs with a fence and a transfer, and typed registers. `build` makes it from a
pattern, `own` from an automaton that a user wrote, `algebra` from a CESAR expression. `liveness` finds the registers
that each state has to keep, `ambiguity` whether two paths can emit the same match.
"""
