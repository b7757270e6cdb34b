"""Sessions: events in batches, certain matches out, state that can be written down. No clock, no threads, no I/O."""
