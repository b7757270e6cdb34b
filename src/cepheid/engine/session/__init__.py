"""Sessions: queries on a stream of batches, which come, go and change while it runs.

A session is composed of parts. `query_session` knows the columns: `QuerySession.conform` adapts each batch to those of
the first, and learns the types of columns that had only NULL. `LateFilter` of `engine/stream/late.py` sets late events
aside. `clock` knows the time that the stream has reached, `promise_book` what was promised of events to come, `history`
which query runs when and `turn` what it takes to change one. A query is run by a `waiting_query`, which emits matches
once the watermark has passed them, or an `ahead_query`, which emits them before that and retracts what turns out wrong.
`waiting_session` and `ahead_session` put these together, and save and restore them.

Times are ticks of the time column, changes carry queries, events are Arrow tables or rows of known columns. `api`
reads what users pass, and reports to them; Spark's state keeps these sessions as they are.
"""
