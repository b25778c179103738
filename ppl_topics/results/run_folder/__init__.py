"""Run folders: what a run keeps on disk, so that it can be stopped at any moment and resumed.

A folder holds the manifest (``run.json``), the resolved model (``model.yaml``), the corpus, the draws (a zarr store,
chunked by draw), two checkpoints for each chain, and a log. Nothing in it is ever unpickled or executed.
"""
