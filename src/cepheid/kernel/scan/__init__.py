"""The scan: an automaton as one loop over the events of a batch.

`program` turns the automaton into steps: how the runs of each state are kept, and what an event does to them.
`generate` makes a kernel of these steps. `graph` writes the match store, whose nodes share the histories of merged
runs. `state` allocates the arrays that a scan works on.
"""
