"""What runs a query without a kernel: the steps of the reference, made incremental, with a stepper per language."""
