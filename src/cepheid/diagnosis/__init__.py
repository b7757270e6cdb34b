"""Why a query matches, why it does not, and what its runs do.

The reference reports each step of its runs (`cepheid.reference.watching`), so that a diagnosis agrees with `match`.
`diagnose` follows runs within a budget, counts how far they come, looks at the columns of all events, and tries
single changes of the query; `ranking` puts the likeliest hint first. `trace` lists the steps, and `why_not` finds the
first rule that keeps given rows from being a match.
"""
