"""A join as three kernels: select stores events on stacks, group copies partitions, construct makes matches.

`select` is a scan. `construct` has a fixed order of components (`nest`) or chooses the next one while it runs
(`tree`). `lookup` finds the candidates of a bounded condition in sorted parts of a stack.
"""
