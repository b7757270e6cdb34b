"""The pattern tree: nodes, walks, paths through a pattern, and what a query reads."""
