"""What the reference and the engines share: the events of a table, and the value of an expression on them.

Read it beside the semantics page: `rows` is S1, `logic` S3, `arithmetic`, `comparison` and `functions` S3a; `evaluate`
puts them together.
"""
