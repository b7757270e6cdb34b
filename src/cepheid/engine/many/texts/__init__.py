"""Rules that come as texts: their conditions are compiled once each, and go into the shared tables."""
