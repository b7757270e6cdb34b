"""The CESAR algebra (S19 to S22): what an expression says, its names, its types."""
