"""CESAR expressions (S19 to S22), bound to a schema.

An expression that is linear-plus becomes one event automaton (`linear`). `result` says which columns its events have.
"""
