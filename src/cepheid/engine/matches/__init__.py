"""Matches, from what a machine has found to what a user reads."""
