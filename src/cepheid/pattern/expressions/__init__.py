"""Expressions of WHERE, HAVING, RETURN and SET: their nodes, types, functions, constants and parameters.

`nodes` has the tree and `types` the types. The other modules each hold the rules of one kind of expression, such as
CAST, INTERVAL or RLIKE. What an expression evaluates to is defined in `cepheid.values`.
"""
