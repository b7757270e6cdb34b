"""Machines: what runs one query over the batches of a stream.

`protocol` says what each machine does, and `factory` creates the right one. Machines on kernels run a scan or a join.
Interpreted machines run what no kernel can be generated for, with the steps of the reference. A machine can be
replaced while it runs, when another plan has become cheaper.
"""
