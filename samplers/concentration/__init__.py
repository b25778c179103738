"""Kernels: concentration."""
