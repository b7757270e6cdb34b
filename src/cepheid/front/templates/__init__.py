"""Templates: a query with parameters, run for many rules at once (S23).

A template is rewritten to a query on a joined stream, whose rows are an event and the constants of a rule that it
concerns. The parameters are then columns, and the rewritten query runs as any other.
"""
