"""Query texts: the grammar, from text to tree, and from tree to text.

What all texts are made of, words, strings and comments, is in `lexis`, from which every reader has it.

Lark parses SASE+ and automata by `grammar.lark`; `builder`, `expressions` and `automata` turn its parse tree into
nodes. CESAR has a reader of its own in `algebra`. When a parse fails, `mistakes` makes the error, with advice for
those who know SQL (`advice`, `habits`).

Many texts are read together in `texts`.
"""

from cepheid.language.algebra.printer import print_term
from cepheid.language.printer import (
    print_arc,
    print_expression,
    print_pattern,
    print_program,
    print_query,
    print_window,
)
from cepheid.pattern.expressions.nodes import Expression
from cepheid.pattern.tree.nodes import Program

__all__ = [
    "parse",
    "parse_expression",
    "print_arc",
    "print_expression",
    "print_pattern",
    "print_program",
    "print_query",
    "print_term",
    "print_window",
]


def parse(text: str) -> Program:
    """Read one or more queries.

    >>> len(parse("EVENT A a; EVENT B b").queries)
    2
    """
    # Imported here: lark would take a third of the time of `import cepheid`, and many programs never parse.
    from cepheid.language.parser import parse as read

    return read(text)


def parse_expression(text: str) -> Expression:
    """Read one expression, as it would stand on an arc.

    >>> print_expression(parse_expression("e.price>r.top and e.volume>1"))
    'e.price > r.top AND e.volume > 1'
    """
    from cepheid.language.parser import parse_expression as read

    return read(text)
