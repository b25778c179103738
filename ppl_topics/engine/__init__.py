"""Running chains."""
