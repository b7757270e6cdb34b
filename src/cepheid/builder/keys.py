"""The keys of a query as Python strings: a column, or a field of a struct in one."""

from __future__ import annotations

import re

from cepheid.builder.misuse import check_name
from cepheid.pattern.tree.nodes import KeyColumn

_NAME = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)")
_PATH = re.compile(rf"(?:{_NAME.pattern})(?:\.(?:{_NAME.pattern}))*")


def read_key(name: object, what: str, remedy: str) -> KeyColumn:
    """A key by its name, in which a dot leads into a struct, but not between back quotes.

    >>> read_key("payload.user", "a column", ""), read_key("`payload.user`", "a column", "")
    (KeyColumn(name='payload', fields=('user',)), KeyColumn(name='payload.user', fields=()))
    """
    text = check_name(name, what, remedy)
    if _PATH.fullmatch(text) is None:  # an odd name, such as one that ends with a dot
        return KeyColumn(text)
    column, *fields = (quoted.replace("``", "`") or plain for quoted, plain in _NAME.findall(text))
    return KeyColumn(column, tuple(fields))
