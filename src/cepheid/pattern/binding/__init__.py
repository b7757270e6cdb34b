"""A query is checked, and with a schema becomes one typed value."""
