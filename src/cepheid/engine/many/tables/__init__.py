"""Rules whose templates are chains, in tables that all of them share."""
