"""What all parts speak of: blocks, kernels, responses, priors, the state of a chain, keys of random streams."""
