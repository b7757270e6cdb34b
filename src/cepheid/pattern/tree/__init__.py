"""The pattern tree: its nodes, how to walk and rewrite them, and facts that follow from the tree alone.

Such facts are: the variables and how often each is bound (`components`), the paths through the pattern (`layout`),
the variables that each condition reads (`uses`), and which query of a program reads which stream (`flow`). None needs
a schema.
"""
