"""The tables of the grammar, made once."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from lark import Lark

from cepheid.cache import cache_directory
from cepheid.language.lexis import TERMINALS


@cache
def grammar() -> Lark:
    """The parser, of programs and of single expressions."""
    rules = files("cepheid.language").joinpath("grammar.lark").read_text(encoding="utf-8")
    terminals = (f"{name}: /{pattern.replace('/', chr(92) + '/')}/\n" for name, pattern in TERMINALS.items())
    text = "".join([rules, *terminals])
    # Making the tables takes longer than a small query; Lark checks that the cached file belongs to this grammar.
    tables = str(cache_directory() / "grammar.lark.tables")
    starts = ["program", "expression"]
    return Lark(text, start=starts, parser="lalr", propagate_positions=True, maybe_placeholders=True, cache=tables)
