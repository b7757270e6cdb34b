"""Templates: one query for many rules, on events that are joined with the constants of the rules."""
