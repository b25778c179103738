"""Kernels of the coefficients of responses, normal given everything else."""
