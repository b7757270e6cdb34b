"""CESAR expressions as text: text to tree, tree to text."""

from cepheid.language.algebra.printed import without_latex
from cepheid.language.algebra.reader import begins_algebra, read_algebra
from cepheid.language.algebra.scanner import after_blanks

__all__ = ["after_blanks", "begins_algebra", "read_algebra", "without_latex"]
