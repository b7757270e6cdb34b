"""Expressions of WHERE, HAVING and RETURN: nodes, types, functions, constants and parameters."""
