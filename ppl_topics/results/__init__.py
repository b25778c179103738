"""The trace: recorded draws, as Datasets, in ArviZ's containers, on disk."""
