"""The pattern tree, typed expressions, and binding to a schema. All sugar ends here."""
