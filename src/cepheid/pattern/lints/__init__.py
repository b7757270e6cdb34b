"""Queries that are valid but likely to surprise, such as conditions that contradict each other.

Each module finds one kind and returns warnings with a code and a place; none changes the query.
"""
