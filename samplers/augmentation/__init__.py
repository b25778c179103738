"""Kernels: augmentation, the auxiliary variables given which responses are quadratic in their linear predictors."""
