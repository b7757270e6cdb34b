"""How the checks of this package say that Spark must read the files."""

from __future__ import annotations


class NotDirect(Exception):  # noqa: N818  a signal, not an error
    """Says why tasks cannot read the files themselves."""
