"""Tests that certify kernels as exact, or refuse them."""

from ppl_topics.diagnostics.exactness.certificate import Certificate, Verification
from ppl_topics.diagnostics.exactness.sequential import Verdict, sequential_test
from ppl_topics.diagnostics.exactness.verify import verify

__all__ = ["Certificate", "Verdict", "Verification", "sequential_test", "verify"]
