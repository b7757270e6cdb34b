"""Events in, in batches; matches out, once they are certain. No clock, no I/O.

The data flow: `encoding` turns columns into arrays of numbers; `planning` compiles a query and chooses a plan;
`machines` run one query; `matches` turn what a machine emits into what a user reads. `stream` connects them: the
order of events, the watermark, the queries of a program, snapshots, and matches that are emitted before they are
certain. `many` runs many rules on one stream. `session` keeps queries that come, go and change on a stream of batches.
"""
