"""Sphinx configuration."""

from importlib.metadata import version as installed_version

project = "ppl-topics"
author = "the ppl-topics developers"
copyright = "2026, the ppl-topics developers"
release = installed_version("ppl-topics")
version = release

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
]
exclude_patterns = ["_build"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

# The public face is `ppl_topics.__all__`, in its order.
autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autosummary_generate = False
numpydoc_class_members_toctree = False
numpydoc_show_inherited_class_members = False

html_theme = "alabaster"
html_theme_options = {"description": "Bayesian topic models in YAML, with exact MCMC kernels"}
