"""CESAR expressions (S19 to S22): their tree, and what its names stand for.

A program with CESAR expressions is split into streams that read each other (`flow`).
"""
