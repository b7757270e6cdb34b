"""Planning: what is made of a query once, what a sample of the stream tells, and which plan is taken."""
