"""What the matches of a scan look like: events (SASE), an event and a register (automata), values (CESAR).

A form reads the matches that a scan has written into its state, and knows which of them must wait.
"""
