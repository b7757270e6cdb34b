"""Rules of one template that share a kernel: a query on events joined with the constants of rules.

An index over the rules' constants finds which rules an event concerns (`value_index`, `range_index`, chosen in
`routers`). Rules whose constants differ only in value are one variant, and each variant is one query.
"""
