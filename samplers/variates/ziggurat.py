"""Tables of the ziggurat for the normal distribution: 256 layers of equal area under exp(-x^2 / 2)."""

from __future__ import annotations

import numpy as np

from ppl_topics._util.arrays import FloatArray, UInt64Array

__all__ = ["LAYERS", "TAIL_START", "normal_tables"]

LAYERS = 256
TAIL_START = 3.6541528853610087963519472518
LAYER_AREA = 0.0049286732339746519
FRACTION_BITS = 52


def normal_tables() -> tuple[UInt64Array, FloatArray, FloatArray]:
    """Build the tables of Marsaglia and Tsang (2000) for a 52-bit fraction.

    Layer 0 is the base with the tail beyond `TAIL_START`; layers 1 to 255 are rectangles of falling width.

    References
    ----------
    G. Marsaglia, W. W. Tsang (2000). The ziggurat method for generating random variables.
    Journal of Statistical Software 5(8).
    """
    edge = np.zeros(LAYERS + 1)
    edge[0] = LAYER_AREA / np.exp(-0.5 * TAIL_START**2)
    edge[1] = TAIL_START
    for layer in range(2, LAYERS):
        density = LAYER_AREA / edge[layer - 1] + np.exp(-0.5 * edge[layer - 1] ** 2)
        edge[layer] = np.sqrt(-2.0 * np.log(density))
    height = np.exp(-0.5 * edge**2)
    scale = edge[:LAYERS] / 2.0**FRACTION_BITS
    inside = (edge[1:] / edge[:LAYERS] * 2.0**FRACTION_BITS).astype(np.uint64)
    return inside, scale, height
