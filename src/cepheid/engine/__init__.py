"""Sessions: events in batches, certain matches out, state that can be written down. No clock, no I/O."""
