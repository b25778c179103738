"""What the estimators of the likelihood of documents share: their number of independent replicates."""

__all__ = ["CHUNKS", "REPLICATES"]

REPLICATES = 4
"""Independent estimates of the likelihood of each document; their spread gives the Monte Carlo error."""

CHUNKS = 256
