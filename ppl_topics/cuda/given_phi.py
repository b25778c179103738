"""Sweeps over documents on a device, given the topics: a warp for each document, whose tokens it draws in their order.

The lanes of a warp share the topics of a token: lane l has topics l, l + 32, l + 64, ... A uniform number u names a
point between 0 and the sum of all weights, laid out lane by lane, and so a topic. Sums are first computed in float32.
With J topics to a lane they are right to (J / 4 + 24) 2^-23 of the sum of all weights, so that a point which is farther
than that from both ends of the cell that it falls into would fall into the same cell with exact sums. For all others,
at most one in a hundred at K = 1000, the cell of the same point is found in float64. So the draw is that of float64,
whatever was rounded before: each topic has its probability to 1e-12, and the total variation from the full conditional
is below 1e-12 a draw, at any number of topics.

A sweep by lists looks first at the topics that the word of the token is likely in, as
`ppl_topics.samplers.assignments.sparse_partially_collapsed` does: a point up to a bound of the sum of all weights falls
into the list, nearly always; or among the other topics, or beyond all, and then another point is taken.

References
----------
M. Magnusson, L. Jonsson, M. Villani, D. Broman (2018). Sparse partially collapsed MCMC for parallel inference
in topic models. Journal of Computational and Graphical Statistics 27(2), equation 4.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, float32

from ppl_topics.cuda.compiling import on_device, swept
from ppl_topics.cuda.philox import DeviceKey, philox, uniform
from ppl_topics.cuda.warp import (
    LANES,
    ballot,
    first_lane,
    from_lane,
    largest,
    last_lane,
    running_sum,
    sync,
    without_lane,
    word_from_lane,
)

__all__ = ["LARGEST_WEIGHT", "SWEEPS", "DeviceLists", "DeviceTerm", "DeviceTokens"]

PARTS = 4
"""Of the topics that a lane has, of which every fourth is in the same part; each part has a sum of its own."""

ONE, TWO, THREE, FOUR = np.uint64(LANES), np.uint64(2 * LANES), np.uint64(3 * LANES), np.uint64(4 * LANES)
SAFE, LARGEST = np.float32(1e-30), np.float32(3e38)
"""A sum of float32 between these has lost no more to underflow than to rounding."""

LARGEST_WEIGHT = 2.0**22
"""Below this, the count in a float32 weight n + alpha is known exactly, given alpha."""

BELOW_ONE = 1.0 - 2.0**-53
SHIFT_32 = np.uint64(32)
RAISED = 2.0**600
"""Times this, the product of the least concentration, 1e-300, and the least positive float32 is no denormal number."""


class DeviceTokens(NamedTuple):
    """The tokens of a corpus on a device.

    Attributes
    ----------
    order : device array of int32, shape (D,)
        Documents, the longest first.
    doc_ptr : device array of int64, shape (D + 1,)
    words : device array of uint32, shape (N,)
    selected : device array of bool, shape (V,) or (0,)
        Words whose tokens are drawn; all, where it is empty.
    """

    order: Any
    doc_ptr: Any
    words: Any
    selected: Any


class DeviceLists(NamedTuple):
    """The topics that each word is likely in, on a device; see `samplers.assignments.likely_topics.LikelyTopics`."""

    pointer: Any
    topics: Any
    values: Any
    level: Any
    rest: Any


class DeviceTerm(NamedTuple):
    """What responses add, on a device; see `samplers.responses.response_term.ResponseTerm`."""

    eta: Any
    slope: Any
    curvature: Any
    rejected: Any


@on_device
def exact_weight(weight: Any, alpha: Any, probability: Any) -> Any:
    """Return (n + alpha) phi in float64, from the float32 of n + alpha, times a factor that keeps it from underflow."""
    return (math.floor(np.float64(weight) - alpha + 0.5) + alpha) * RAISED * np.float64(probability)


@on_device
def find_part(point: Any, first: Any, second: Any, third: Any, fourth: Any, reached: Any) -> Any:
    """Return the lane and the part of it that a point falls into, given the sums of each lane's parts.

    Also how far the point is beyond the beginning of the part, the part's sum, and whether there is such a part.
    """
    two, three = first + second, (first + second) + third
    own = two + (third + fourth)
    chosen: Any = first_lane(ballot(reached > point))
    found = chosen >= 0
    if not found:
        chosen = np.int32(0)
    left = point - from_lane(reached - own, chosen)
    part: Any = np.int32(0)
    before, mass = np.float32(0.0), first
    if left >= first:
        part, before, mass = np.int32(1), first, second
    if left >= two:
        part, before, mass = np.int32(2), two, third
    if left >= three:
        part, before, mass = np.int32(3), three, fourth
    return chosen, from_lane(part, chosen), left - from_lane(before, chosen), from_lane(mass, chosen), found


@on_device
def draw_from_all(u: Any, weight: Any, phi: Any, begin: Any, topics: Any, tolerance: Any, lane: Any) -> Any:
    """Return the topic that a uniform number names, in float32; -1 if rounding leaves it open."""
    first, second, third, fourth = np.float32(0.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
    topic = np.uint64(lane)
    while topic + THREE < topics:
        first += weight[topic] * phi[begin + topic]
        second += weight[topic + ONE] * phi[begin + topic + ONE]
        third += weight[topic + TWO] * phi[begin + topic + TWO]
        fourth += weight[topic + THREE] * phi[begin + topic + THREE]
        topic += FOUR
    if topic < topics:
        first += weight[topic] * phi[begin + topic]
    if topic + ONE < topics:
        second += weight[topic + ONE] * phi[begin + topic + ONE]
    if topic + TWO < topics:
        third += weight[topic + TWO] * phi[begin + topic + TWO]
    reached = running_sum((first + second) + (third + fourth), lane)
    total = from_lane(reached, LANES - 1)
    if not (total >= SAFE and total <= LARGEST):
        return -1
    slack = total * tolerance
    chosen, part, left, mass, found = find_part(u * total, first, second, third, fourth, reached)
    if not found:
        return -1
    row = np.uint64(part) * ONE + np.uint64(chosen)
    if topics <= FOUR:
        return np.int32(row) if left >= slack and mass - left >= slack else -1
    done = np.float32(0.0)
    while row < topics:
        topic = row + FOUR * np.uint64(lane)
        cell = weight[topic] * phi[begin + topic] if topic < topics else np.float32(0.0)
        reached = done + running_sum(cell, lane)
        inside = first_lane(ballot(reached > left))
        if inside >= 0:
            upper, lower = from_lane(reached, inside), from_lane(reached - cell, inside)
            if left - lower >= slack and upper - left >= slack:
                return np.int32(row + FOUR * np.uint64(inside))
            return -1
        done = from_lane(reached, LANES - 1)
        row += FOUR * ONE
    return -1


@on_device
def draw_exactly(u: Any, old: Any, weight: Any, alpha: Any, phi: Any, begin: Any, topics: Any, lane: Any) -> Any:
    """Return the topic that a uniform number names, in float64; the old one if all weights are zero."""
    own = 0.0
    for topic in range(lane, topics, LANES):
        own += exact_weight(weight[topic], alpha[topic], phi[begin + np.uint64(topic)])
    reached = running_sum(own, lane)
    total = from_lane(reached, LANES - 1)
    if not total > 0.0:
        return old
    point = min(u * total, total * BELOW_ONE)
    chosen = first_lane(ballot(reached > point))
    left, done, last = point - from_lane(reached - own, chosen), 0.0, old
    for part in range(PARTS):
        for row in range(chosen + part * LANES, topics, PARTS * LANES * LANES):
            topic, cell = row + PARTS * LANES * lane, 0.0
            if topic < topics:
                cell = exact_weight(weight[topic], alpha[topic], phi[begin + np.uint64(topic)])
            reached = done + running_sum(cell, lane)
            found = first_lane(ballot(reached > left))
            if found >= 0:
                return np.int32(row + PARTS * LANES * found)
            done = from_lane(reached, LANES - 1)
            positive = last_lane(ballot(cell > 0.0))
            if positive >= 0:
                last = np.int32(row + PARTS * LANES * positive)
    return last


@on_device
def draw_from_list(
    point: Any,
    first: Any,
    second: Any,
    third: Any,
    fourth: Any,
    reached: Any,
    weight: Any,
    lists: DeviceLists,
    begin: Any,
    size: Any,
    slack: Any,
    lane: Any,
) -> Any:
    """Return the topic of a list that a point falls into, in float32; -1 if rounding leaves it open."""
    chosen, part, left, mass, found = find_part(point, first, second, third, fourth, reached)
    if not found:
        return -1
    row = np.uint64(part) * ONE + np.uint64(chosen)
    if size <= FOUR:
        if left >= slack and mass - left >= slack:
            return np.int32(lists.topics[begin + row])
        return -1
    done = np.float32(0.0)
    while row < size:
        entry = row + FOUR * np.uint64(lane)
        cell = np.float32(0.0)
        if entry < size:
            cell = weight[lists.topics[begin + entry]] * lists.values[begin + entry]
        reached = done + running_sum(cell, lane)
        inside = first_lane(ballot(reached > left))
        if inside >= 0:
            upper, lower = from_lane(reached, inside), from_lane(reached - cell, inside)
            if left - lower >= slack and upper - left >= slack:
                return np.int32(lists.topics[begin + row + FOUR * np.uint64(inside)])
            return -1
        done = from_lane(reached, LANES - 1)
        row += FOUR * ONE
    return -1


@on_device
def parts_of_list(weight: Any, lists: DeviceLists, begin: Any, size: Any, lane: Any) -> Any:
    """Return the sums of weights (n + alpha) phi over four parts of a list, of the entries that this lane has."""
    first, second, third, fourth = np.float32(0.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
    entry, end = begin + np.uint64(lane), begin + size
    while entry + THREE < end:
        first += weight[lists.topics[entry]] * lists.values[entry]
        second += weight[lists.topics[entry + ONE]] * lists.values[entry + ONE]
        third += weight[lists.topics[entry + TWO]] * lists.values[entry + TWO]
        fourth += weight[lists.topics[entry + THREE]] * lists.values[entry + THREE]
        entry += FOUR
    if entry < end:
        first += weight[lists.topics[entry]] * lists.values[entry]
    if entry + ONE < end:
        second += weight[lists.topics[entry + ONE]] * lists.values[entry + ONE]
    if entry + TWO < end:
        third += weight[lists.topics[entry + TWO]] * lists.values[entry + TWO]
    return first, second, third, fourth


@on_device
def listed_cell(weight: Any, alpha: Any, lists: DeviceLists, begin: Any, size: Any, entry: Any) -> Any:
    """Return the weight of an entry of a list in float64; 0 beyond its end."""
    if entry >= size:
        return 0.0
    topic = lists.topics[begin + np.uint64(entry)]
    return exact_weight(weight[topic], alpha[topic], lists.values[begin + np.uint64(entry)])


@on_device
def other_cell(weight: Any, alpha: Any, phi: Any, begin: Any, topics: Any, level: Any, topic: Any) -> Any:
    """Return the weight of a topic in float64 if it is not listed; 0 if it is, or beyond the last."""
    if topic >= topics or phi[begin + np.uint64(topic)] >= level:
        return 0.0
    return exact_weight(weight[topic], alpha[topic], phi[begin + np.uint64(topic)])


@on_device
def draw_listed_exactly(
    point: Any, word: Any, weight: Any, alpha: Any, phi: Any, lists: DeviceLists, topics: Any, lane: Any
) -> Any:
    """Return the topic that a point falls into in float64, in the list of a word or beyond; -1 if beyond all."""
    point *= RAISED
    start, size = np.uint64(lists.pointer[word]), np.int32(lists.pointer[word + 1] - lists.pointer[word])
    row_of_phi, level = np.uint64(word) * np.uint64(topics), lists.level[word]
    for others in range(2):
        own = 0.0
        for cell in range(lane, topics if others else size, LANES):
            if others:
                own += other_cell(weight, alpha, phi, row_of_phi, topics, level, cell)
            else:
                own += listed_cell(weight, alpha, lists, start, size, cell)
        reached = running_sum(own, lane)
        chosen = first_lane(ballot(reached > point))
        if chosen < 0:
            point -= from_lane(reached, LANES - 1)
            continue
        left, done, last, inside = point - from_lane(reached - own, chosen), 0.0, np.int32(-1), False
        for part in range(PARTS):
            for row in range(chosen + part * LANES, topics if others else size, PARTS * LANES * LANES):
                cell = row + PARTS * LANES * lane
                if others:
                    width = other_cell(weight, alpha, phi, row_of_phi, topics, level, cell)
                else:
                    width = listed_cell(weight, alpha, lists, start, size, cell)
                reached = done + running_sum(width, lane)
                found = first_lane(ballot(reached > left))
                done = from_lane(reached, LANES - 1)
                if not inside:
                    inside = found >= 0
                    found = found if inside else last_lane(ballot(width > 0.0))
                    if found >= 0:
                        last = np.int32(row + PARTS * LANES * found)
        # By rounding a point may be in a lane without a weight: then the draw is repeated.
        if others or last < 0:
            return last
        return np.int32(lists.topics[start + np.uint64(last)])
    return np.int32(-1)


@on_device
def gain_of_move(doc: Any, old: Any, new: Any, term: DeviceTerm, lane: Any) -> Any:
    """Return the change of the log density of the responses; see `response_term.gain_of_move`."""
    gain = 0.0
    for c in range(lane, term.eta.shape[1], LANES):
        delta = term.eta[new, c] - term.eta[old, c]
        gain += delta * (term.slope[doc, c] - 0.5 * term.curvature[doc, c] * delta)
    return from_lane(running_sum(gain, lane), LANES - 1)


@on_device
def accepts(doc: Any, old: Any, new: Any, word: Any, term: DeviceTerm, lane: Any) -> Any:
    """Return whether the move of a token to another topic is accepted, and if so update the slope."""
    gain = gain_of_move(doc, old, new, term, lane)
    # Written so that NaN is not accepted.
    accepted = gain >= 0.0 or uniform(word) < math.exp(gain)
    if accepted:
        for c in range(lane, term.eta.shape[1], LANES):
            term.slope[doc, c] -= term.curvature[doc, c] * (term.eta[new, c] - term.eta[old, c])
    elif lane == 0:
        term.rejected[doc] += 1
    return accepted


@on_device
def next_document(queue: Any, lane: Any) -> Any:
    """Return the number of a document that no warp has taken."""
    taken = np.int32(0)
    if lane == 0:
        taken = np.int32(cuda.atomic.add(queue, 0, 1))
    return from_lane(taken, 0)


@on_device
def begin_document(z: Any, first: Any, length: Any, alpha: Any, weight: Any, lane: Any) -> Any:
    """Set the weights n_dk + alpha_k of a document, and return the largest."""
    topics = alpha.size
    for topic in range(lane, topics, LANES):
        weight[topic] = 0.0
    sync()
    for token in range(lane, length, LANES):
        cuda.atomic.add(weight, z[first + token], np.float32(1.0))
    sync()
    heaviest = np.float32(0.0)
    for topic in range(lane, topics, LANES):
        weight[topic] = np.float32(np.float64(weight[topic]) + alpha[topic])
        heaviest = max(heaviest, weight[topic])
    sync()
    return largest(heaviest)


@on_device
def count(topic: Any, change: Any, alpha: Any, weight: Any) -> None:
    """Add a token to a topic of this alpha, or remove it."""
    weight[topic] = (math.floor(weight[topic] - alpha + np.float32(0.5)) + change) + alpha


def make_sweep(listed: bool, responds: bool) -> Any:
    """Compile a sweep, with lists of likely topics or without, of a model with responses or without."""

    @swept
    def sweep(
        tokens: DeviceTokens,
        z: Any,
        phi: Any,
        rows: Any,
        short_rows: Any,
        row: Any,
        lists: DeviceLists,
        term: DeviceTerm,
        n_wk: Any,
        queue: Any,
        tolerance: Any,
        key: DeviceKey,
    ) -> None:
        lane, warp = cuda.threadIdx.x % LANES, cuda.threadIdx.x // LANES
        topics = rows.shape[1]
        room = cuda.shared.array(0, float32)
        weight = room[warp * topics : (warp + 1) * topics]
        while True:
            place = next_document(queue, lane)
            if place >= tokens.order.size:
                break
            doc = tokens.order[place]
            first, length = tokens.doc_ptr[doc], np.int32(tokens.doc_ptr[doc + 1] - tokens.doc_ptr[doc])
            of_doc = row[doc] if row.size > 0 else 0
            alpha, short_alpha = rows[of_doc], short_rows[of_doc]
            heaviest = begin_document(z, first, length, alpha, weight, lane)
            for base in range(0, length, LANES):
                # Each lane has a token, and the others ask it for what concerns that.
                own_word, own_topic, own_alpha, drawn = np.int32(0), np.int32(0), np.float32(0.0), False
                own_begin, own_size, own_rest = np.int64(0), np.int32(0), np.float32(0.0)
                if base + lane < length:
                    own_word, own_topic = np.int32(tokens.words[first + base + lane]), np.int32(z[first + base + lane])
                    drawn, own_alpha = tokens.selected.size == 0 or tokens.selected[own_word], short_alpha[own_topic]
                    if listed:
                        own_begin = lists.pointer[own_word]
                        own_size, own_rest = np.int32(lists.pointer[own_word + 1] - own_begin), lists.rest[own_word]
                word_of_draw, word_of_acceptance, _, _ = philox(key, doc, base + lane + 1)
                own_u = np.float32(word_of_draw >> SHIFT_32) * np.float32(2.0**-32)
                left = ballot(drawn)
                while left != 0:
                    turn = first_lane(left)
                    left = without_lane(left, turn)
                    if lane == turn:
                        count(own_topic, np.float32(-1.0), own_alpha, weight)
                    sync()
                    u, new, bound = from_lane(own_u, turn), np.int32(-1), np.float32(0.0)
                    if listed:
                        size = from_lane(own_size, turn)
                        if size > 0:
                            start, many = np.uint64(from_lane(own_begin, turn)), np.uint64(size)
                            part_1, part_2, part_3, part_4 = parts_of_list(weight, lists, start, many, lane)
                            reached = running_sum((part_1 + part_2) + (part_3 + part_4), lane)
                            total = from_lane(reached, LANES - 1)
                            others = heaviest * from_lane(own_rest, turn)
                            slack = (total + others) * tolerance
                            bound = total + slack + others
                            if bound >= SAFE and bound <= LARGEST and u * bound < total - slack:
                                new = np.int32(
                                    draw_from_list(
                                        u * bound,
                                        part_1,
                                        part_2,
                                        part_3,
                                        part_4,
                                        reached,
                                        weight,
                                        lists,
                                        start,
                                        many,
                                        slack,
                                        lane,
                                    )
                                )
                    if not listed or from_lane(own_size, turn) == 0:
                        begin = np.uint64(from_lane(own_word, turn)) * np.uint64(topics)
                        new = np.int32(draw_from_all(u, weight, phi, begin, np.uint64(topics), tolerance, lane))
                    if new < 0:
                        word, old = from_lane(own_word, turn), from_lane(own_topic, turn)
                        begin = np.uint64(word) * np.uint64(topics)
                        random, _, another, _ = philox(key, doc, base + turn + 1)
                        if listed and bound >= SAFE and bound <= LARGEST:
                            point = uniform(random) * np.float64(bound)
                            new = np.int32(draw_listed_exactly(point, word, weight, alpha, phi, lists, topics, lane))
                            # Beyond all topics: the next draw, from all of them, has a number of its own.
                            random = another
                        if new < 0:
                            new = np.int32(draw_exactly(uniform(random), old, weight, alpha, phi, begin, topics, lane))
                    if responds:
                        old = from_lane(own_topic, turn)
                        random = word_from_lane(word_of_acceptance, turn)
                        if new != old and not accepts(doc, old, new, random, term, lane):
                            new = old
                    raised = np.float32(0.0)
                    if lane == turn:
                        count(new, np.float32(1.0), short_alpha[new], weight)
                        raised = weight[new]
                        if new != own_topic:
                            cells = np.uint64(own_word) * np.uint64(topics)
                            cuda.atomic.add(n_wk, cells + np.uint64(own_topic), np.int32(-1))
                            cuda.atomic.add(n_wk, cells + np.uint64(new), np.int32(1))
                            own_topic = new
                    sync()
                    if listed:
                        # From the lane that wrote it: in the next turn it may be another already.
                        heaviest = max(heaviest, from_lane(raised, turn))
                if base + lane < length:
                    z[first + base + lane] = own_topic
            sync()

    return sweep


SWEEPS = {(listed, responds): make_sweep(listed, responds) for listed in (False, True) for responds in (False, True)}
"""By whether topics are looked for in lists first, and whether the model has responses."""
