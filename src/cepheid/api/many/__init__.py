"""Many queries (S23): rules are read from any table, checked all together, and run in a session.

`problems` collects what is wrong with which rule. `by_definition` runs each query alone: the definition that the rest
is tested against. `known_texts` remembers texts that were read before.
"""
