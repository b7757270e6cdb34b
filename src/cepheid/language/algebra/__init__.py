"""CESAR expressions as text: from text to tree, and from tree to text.

`reader` is written by hand and calls the grammar for conditions and values. `printed` accepts expressions as papers
print them, in LaTeX. `slips` recognizes typical mistakes.
"""
