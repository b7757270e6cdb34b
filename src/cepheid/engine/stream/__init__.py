"""One stream: events in, in any order up to the watermark; certain matches out; a state that can be saved.

Events wait in `arrivals` until the watermark passes them; there they get their order (S1). `input_stream` holds what
the queries of a stream share, and `pipeline` runs a program. `snapshot` and `parts` write the state. `speculation`
and `partition_replay` emit matches before they are certain and retract those that later events disprove (S15, S16).
"""
