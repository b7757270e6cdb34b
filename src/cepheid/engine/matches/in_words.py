"""A number of matches as a reader takes it in."""

from __future__ import annotations

from math import log10

_LONGEST = 10**15  # of a longer number only its size is read


def said_matches(count: int, *, exact: bool = True) -> str:
    """A number of matches; of a very large one, its size.

    >>> said_matches(1), said_matches(2_000, exact=False), said_matches(2**100)
    ('1 match', '2,000 or more matches', 'about 10^30 matches')
    """
    number = f"{count:,}" if count < _LONGEST else f"about 10^{log10(count):.0f}"
    return f"{number}{'' if exact else ' or more'} match{'' if exact and count == 1 else 'es'}"
