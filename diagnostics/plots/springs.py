"""Places for the nodes of a graph in the plane, the same at every call, with labels that do not overlap.

References
----------
T. M. J. Fruchterman, E. M. Reingold (1991). Graph drawing by force-directed placement. Software: Practice and
Experience 21(11).
"""

from __future__ import annotations

import numpy as np

from ppl_topics._util.arrays import FloatArray, IntArray

__all__ = ["apart", "springs"]

TURNS = 400

GRAVITY = 0.4
"""Pull towards the centre, without which what no edge holds would drift away."""


def springs(pull: FloatArray, order: IntArray) -> FloatArray:
    """Return a place for each node in the unit square, shape (K, 2), that fills it from side to side.

    All nodes push each other away, and edges with the weights ``pull`` (K, K), from 0 to 1, draw theirs together. They
    start on a spiral in the given order.
    """
    n = len(pull)
    angle = 2.0 * np.pi * np.arange(n) / n
    places = np.empty((n, 2))
    # Forces on a circle may balance, however far from each other what is joined stands on it.
    radius = 0.5 + 0.5 * np.arange(n) / n
    places[order] = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    side = 2.0 / np.sqrt(n)
    for turn in range(TURNS):
        gap = places[:, None] - places[None]
        distance = np.maximum(np.linalg.norm(gap, axis=2), 1e-6)
        force = ((side / distance) ** 2 - pull * distance / side)[..., None] * gap
        step = force.sum(axis=1) - GRAVITY * places
        length = np.maximum(np.linalg.norm(step, axis=1, keepdims=True), 1e-12)
        # What a node may move falls to nothing, so that the places settle.
        places = places + step / length * np.minimum(length, 0.2 * (1.0 - turn / TURNS))
    low, span = places.min(axis=0), np.ptp(places, axis=0)
    return np.asarray(np.where(span > 1e-9, (places - low) / np.where(span > 1e-9, span, 1.0), 0.5))


def apart(centres: FloatArray, boxes: FloatArray, area: tuple[float, float]) -> FloatArray:
    """Return the centres of boxes (K, 2), of which no two overlap if there is space for them in the area.

    A pair that overlaps is moved along the axis on which it overlaps less, and all stay in the area.
    """
    least, most = 0.5 * boxes, np.maximum(np.asarray(area) - 0.5 * boxes, 0.5 * boxes)
    centres = np.clip(centres, least, most)
    first = np.arange(len(boxes))
    # Of boxes with the same centre, the first goes one way and the second the other.
    before = np.where(first[:, None] < first[None], -1.0, 1.0)
    for _ in range(TURNS):
        gap = centres[:, None] - centres[None]
        over = 0.5 * (boxes[:, None] + boxes[None]) - np.abs(gap)
        hit = (over[..., 0] > 1e-9) & (over[..., 1] > 1e-9)
        np.fill_diagonal(hit, False)
        if not hit.any():
            break
        way = np.where(gap == 0.0, before[..., None], np.sign(gap))
        less = over[..., 0] <= over[..., 1]
        move = 0.51 * way * over * np.stack([less, ~less], axis=2) * hit[..., None]
        centres = np.clip(centres + move.sum(axis=1), least, most)
    return np.asarray(centres)
