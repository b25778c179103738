"""The marginal likelihood log p(w, z | alpha, beta) of a state on a device; see `ppl_topics.engine.log_joint`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda, int32

from ppl_topics.cuda.compiling import launched, swept
from ppl_topics.cuda.given_phi import next_document
from ppl_topics.cuda.topics import WORDS_TOGETHER, own_topic
from ppl_topics.cuda.warp import LANES, from_lane, running_sum, sync
from ppl_topics.samplers.concentration.log_pochhammer import log_pochhammer

__all__ = ["theta_terms", "word_terms"]


@launched
def word_terms(n_wk: Any, beta: Any, terms: Any, present: Any) -> None:
    """Sum log G(beta + n_wk) - log G(beta), and count the positive n_wk, of `WORDS_TOGETHER` words in each topic."""
    topic, piece = own_topic(), cuda.blockIdx.x
    topics = terms.shape[1]
    if topic < topics:
        total, positive = 0.0, np.int64(0)
        for word in range(piece * WORDS_TOGETHER, min(beta.size, (piece + 1) * WORDS_TOGETHER)):
            count: Any = np.int64(n_wk[np.int64(word) * topics + topic])
            if count > 0:
                total += log_pochhammer(beta[word], count)
                positive += 1
        terms[piece, topic], present[piece, topic] = total, positive


@swept
def theta_terms(
    order: Any, doc_ptr: Any, z: Any, rows: Any, row: Any, sums: Any, queue: Any, terms: Any, met: Any
) -> None:
    """Set log p(z_d | alpha), theta_d integrated out, and how many topics each document has; a warp for a document."""
    lane, warp = cuda.threadIdx.x % LANES, cuda.threadIdx.x // LANES
    topics = rows.shape[1]
    room = cuda.shared.array(0, int32)
    counts = room[warp * topics : (warp + 1) * topics]
    while True:
        place = next_document(queue, lane)
        if place >= order.size:
            break
        doc = np.int64(order[place])
        first, last = doc_ptr[doc], doc_ptr[doc + 1]
        own = row[doc] if row.size > 0 else 0
        for topic in range(lane, topics, LANES):
            counts[topic] = 0
        sync()
        for token in range(first + lane, last, LANES):
            cuda.atomic.add(counts, z[token], np.int32(1))
        sync()
        total, present = 0.0, 0.0
        for topic in range(lane, topics, LANES):
            if counts[topic] > 0:
                total += log_pochhammer(rows[own, topic], counts[topic])
                present += 1.0
        total, present = running_sum(total, lane), running_sum(present, lane)
        total, present = from_lane(total, LANES - 1), from_lane(present, LANES - 1)
        if lane == 0:
            terms[doc] = total - log_pochhammer(sums[own], last - first)
            met[doc] = np.int32(present)
        sync()
