"""Matches, from what a machine emits to what a user reads.

A machine emits a graph (the match store), positions of events, or a table. This room counts them, enumerates them in
the order of S9, applies HAVING, and chooses for OUTPUT NON_OVERLAP and LONGEST without listing them all. For matches
that are emitted early it computes which were added and which retracted (`difference`, `standing`).
"""
