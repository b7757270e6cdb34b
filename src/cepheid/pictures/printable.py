"""Text that XML may hold, and how much room it takes."""

from unicodedata import east_asian_width


def printable(text: str) -> str:
    """A text with a dot for each sign that has no form of its own, most of which XML refuses.

    >>> printable("a\\x01b")
    'a·b'
    """
    return text if text.isprintable() else "".join(sign if sign.isprintable() else "·" for sign in text)


def cells(text: str) -> int:
    """How many letters wide a text is, about: Chinese, Japanese and Korean signs are as wide as two.

    >>> cells("ab日")
    4
    """
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)
