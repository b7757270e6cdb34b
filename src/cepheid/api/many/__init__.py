"""Many queries: rules from any table, what is wrong with them, their matches, their sessions (S23)."""
