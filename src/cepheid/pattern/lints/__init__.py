"""What is allowed in a query but likely to surprise."""
