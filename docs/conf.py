"""Sphinx settings. The build needs no network: nothing here refers to other projects' inventories."""

from importlib.metadata import version as installed_version

project = "angsync"
author = "the angsync developers"
copyright = "2026, the angsync developers"
release = version = installed_version("angsync")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    # MathJax from a package instead of a network, so that formulas show offline
    "sphinx-mathjax-offline",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "angsync"

autodoc_member_order = "bysource"
autodoc_typehints = "description"
# Without this, every array type in a signature unfolds into several lines.
autodoc_type_aliases = {"NDArray": "NDArray", "ArrayLike": "ArrayLike"}
autodoc_preserve_defaults = True
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False
# The types are in the signature already, and a name like bool_ would be read as a link here.
napoleon_attr_annotations = False
