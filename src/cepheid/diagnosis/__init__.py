"""Why a query matches, why it does not, and what it is doing.

All of it is told by the runs themselves (`cepheid.reference.watching`), so that nothing here can disagree with `match`.
"""
