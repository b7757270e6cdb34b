"""Rules that share a kernel: events are joined with the constants of the rules that they concern."""
