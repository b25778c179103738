"""Estimators of the likelihood of documents given topics: left to right, and document completion."""
