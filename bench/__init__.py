"""The papers' experiments, and our engine beside hand-written C++."""

import os

# One core, before anything that makes a pool of threads is imported.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ARROW_IO_THREADS"):
    os.environ[_name] = "1"
