"""Proposals for the topic of a token, of which kernels of z are composed; importing this package registers them."""

from ppl_topics.samplers.proposals.doc import doc
from ppl_topics.samplers.proposals.exp import exp
from ppl_topics.samplers.proposals.word import word

__all__ = ["doc", "exp", "word"]
