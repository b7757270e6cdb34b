"""The language of kernels: typed nodes, a builder, a printer to Python, and a translation to LLVM.

`reader` turns a Python function into the same tree. `whole_arrays` evaluates an expression on whole arrays at once,
for what is computed of each event before any kernel runs.
"""
