"""Many rules on one stream: an event costs what it concerns, not how many rules there are (S23).

A template runs in one of three tiers, chosen by `tiers`: in `tables` that all rules share, if it is a chain of steps;
else `routed`, as one query on events that are joined with the constants of the rules that they concern; else each
rule as a query of its own. `texts` compiles rules that come as many different texts for the tables.
"""
