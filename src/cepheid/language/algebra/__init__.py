"""CESAR expressions as text: text to tree, tree to text."""
