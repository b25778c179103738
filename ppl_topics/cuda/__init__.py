"""Transition kernels on an NVIDIA GPU: the same draws given the same state, by other programs."""
