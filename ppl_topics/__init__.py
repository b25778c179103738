"""ppl-topics."""
