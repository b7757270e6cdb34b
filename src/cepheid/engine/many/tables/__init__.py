"""Rules whose templates are chains of steps, in tables that all rules share.

`chain_reader` reads a template as a chain. Equal steps of different rules become one node (`level`), and an event
finds the nodes that ask for its values by hashes and sorted bounds (`keys`, `ranges`). `renewal` builds the tables
anew in a thread, without removed rules, while the old ones stay in use.
"""
