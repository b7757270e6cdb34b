"""From a parsed query to a typed one, in three steps.

`analysis` resolves names, parameters and strategies, and `check` applies the rules that need no schema. `bind` adds
the schema: `typing` types each expression, and `placement` decides at which event of a match each condition is tested
(S5).
"""
