"""SASE and SASE+ as text: the grammar, text to tree, tree to text."""

from cepheid.language.parser import parse
from cepheid.language.printer import print_expression, print_pattern, print_program, print_query

__all__ = ["parse", "print_expression", "print_pattern", "print_program", "print_query"]
