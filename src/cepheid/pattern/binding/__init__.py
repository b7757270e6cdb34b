"""What all query languages need to bind a query to a schema.

`typing` types each expression, and `placement` decides at which event of a match each condition is tested (S5).
"""
