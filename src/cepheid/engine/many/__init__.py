"""Many queries on one stream: an event costs what it concerns, not how many queries there are (S23)."""
