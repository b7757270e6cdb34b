"""What the reference and the engines share: the events of a table, and the value of an expression on them.

Read it beside docs/semantics.md: `rows` is S1, `logic` is S3, `arithmetic`, `comparison` and `functions` are S3a.
`evaluate` computes an expression on the events that a run has bound. `columns` reads Arrow as Python values, `match`
makes rows of a match.
"""
