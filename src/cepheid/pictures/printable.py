"""Text that XML may hold."""


def printable(text: str) -> str:
    """A text with a dot for each sign that has no form of its own, most of which XML refuses.

    >>> printable("a\\x01b")
    'a·b'
    """
    return text if text.isprintable() else "".join(sign if sign.isprintable() else "·" for sign in text)
