"""What kernels of assignments and of coefficients share about responses: features, linear predictors, moves."""
