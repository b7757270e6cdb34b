"""A kernel as a tree: typed nodes, a builder, a printer to Python and a translation to LLVM."""
