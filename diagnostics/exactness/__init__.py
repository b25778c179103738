"""Tests that certify kernels as exact, or refuse them."""

from ppl_topics.diagnostics.exactness.sequential import Verdict, sequential_test
from ppl_topics.diagnostics.exactness.verify import Certificate, Verification, verify

__all__ = ["Certificate", "Verdict", "Verification", "sequential_test", "verify"]
