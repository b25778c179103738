"""Kernels: variates."""
