"""Events as kernels read them: each column, type, string and key is encoded once for all queries of a stream."""
