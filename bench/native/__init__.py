"""The hand-written C++ loops."""

from bench.native.loops import Loop, Positions, sase, w1, w2, w3, w4, w5_balanced, w5_prices

__all__ = ["Loop", "Positions", "sase", "w1", "w2", "w3", "w4", "w5_balanced", "w5_prices"]
