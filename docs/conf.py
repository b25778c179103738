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
    "sphinx-mathjax-offline",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "sg_execution_times.rst"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

# The public face is `ppl_topics.__all__`, in its order.
autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autosummary_generate = False
numpydoc_class_members_toctree = False
numpydoc_show_inherited_class_members = False

# Scripts that are run when the site is built; an error in one fails the build.
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "capture_repr": ("_repr_html_",),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "copyfile_regex": "",
}

html_theme = "furo"
html_title = "ppl-topics"
html_theme_options = {"navigation_with_keys": True}
