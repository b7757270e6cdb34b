"""Machines: what runs one query over the batches of a stream."""
