"""Kernels of the scales of shrinkage priors, given the coefficients."""
