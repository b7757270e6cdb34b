"""One model: states, arcs with a fence and a transfer, a typed register."""
