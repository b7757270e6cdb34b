"""Events as kernels read them: each column, type, string and key is encoded once for all queries of a stream.

A batch also holds what is computed of an event alone: conditions of FROM, functions, and the last event of each
partition at a time (`instants`). A few events are encoded without numpy, which is faster for them (`few_events`).
"""
