"""Streams: events in, in any order up to the watermark; certain matches out; state that can be written down."""
