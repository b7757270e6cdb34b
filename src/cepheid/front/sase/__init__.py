"""The PATTERN clause: the rules that need no schema (`check`), its keys, and what is read of a bound pattern."""
