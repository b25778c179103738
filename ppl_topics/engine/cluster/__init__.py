"""Runs on several machines, through Dask distributed, which this folder alone knows."""
