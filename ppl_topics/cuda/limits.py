"""What a device has room for; known without one."""

__all__ = ["BLOCK_MEMORY", "MOST_TOPICS"]

BLOCK_MEMORY = 48 * 1024
"""Bytes of shared memory that a block may ask for."""

MOST_TOPICS = BLOCK_MEMORY // 4
"""Topics whose weights in a document fit there."""
