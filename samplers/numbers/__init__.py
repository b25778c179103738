"""Kernels of numbers of blocks that have priors: variances, dispersions, scales."""
