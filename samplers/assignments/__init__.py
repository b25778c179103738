"""Kernels: assignments."""
