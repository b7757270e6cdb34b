"""Rules that come as texts, read by their frames and conditions."""
