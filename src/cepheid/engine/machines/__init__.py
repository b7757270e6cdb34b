"""Machines: what runs one query over the batches of a stream.

`protocol` says what each machine does, and `factory` has the table of which part runs which language. A scan machine
is a `Scan` (a kernel and its state) with a form of its results (`forms/`); a stack machine joins stored events; an
interpreted machine runs what no kernel can be generated for, by a stepper (`interpreted/`). `KernelInput` makes the
arguments of kernels, `BatchPieces` cuts and reports a batch, `OutputRules` has HAVING and OUTPUT. Which plan runs, and
when it changes, is decided by the query stream, not by a machine.
"""
