"""Automata that users write (S18): checked, bound to a schema, and changed while they run (S17).

A change adds or removes arcs by name, each with a lifetime. `timeline` keeps the log of changes, `versions` does the
same for conditions of WHERE that are replaced.
"""
