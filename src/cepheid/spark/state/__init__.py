"""The state of a stream, one bucket of keys at a time.

A bucket has a session, in which events wait for the watermark and are matched. In the state store it has one header
and several parts, which are found by name:

- Rows never change once they are written: those that wait as they came, the others in segments by their position in
  the stream. Small ones are merged into larger ones.
- Everything else is one body. It is cut into chunks where its content says, and only new chunks are written.
- What is small goes into the header itself, so that a small state costs one read and one write.

Parts are compressed, because moving a byte through Spark costs more than compressing it.
"""
