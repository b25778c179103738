"""Kernels: topics."""
