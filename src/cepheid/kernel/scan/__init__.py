"""The scan: an automaton as one loop over the events of a batch, and the state that it works on."""
