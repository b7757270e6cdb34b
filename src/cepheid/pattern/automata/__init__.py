"""Automata that users write (S18): checked, bound, and changed while they run (S17)."""
