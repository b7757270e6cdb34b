"""The command line: the only room that prints, and the only one that imports click and rich."""

from cepheid.cli.group import main

__all__ = ["main"]
