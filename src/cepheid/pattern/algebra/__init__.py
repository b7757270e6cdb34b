"""CESAR expressions (S19 to S22): their tree, what its names stand for, and their types.

A program with CESAR expressions is split into streams that read each other (`flow`). An expression that is linear-
plus becomes one event automaton (`linear`). `result` says which columns its events have.
"""
