"""Ratings explained by topics, with errors and coefficients of heavy tails: a plug-in of ppl-topics."""
