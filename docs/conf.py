"""Sphinx settings. The build needs no network: nothing here refers to other projects' inventories."""

import os
import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

import sphinx.util.inspect

# many small products: threads would cost more than they give (set before NumPy is loaded)
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

project = "angsync"
author = "the angsync developers"
copyright = "2026, the angsync developers"
release = version = installed_version("angsync")

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import gallery_look  # noqa: E402
from lab.assemble import lab_page  # noqa: E402

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    # MathJax from a package instead of a network, so that formulas show offline
    "sphinx-mathjax-offline",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    # runs the examples and shows them with what they drew and printed
    "sphinx_gallery.gen_gallery",
]

exclude_patterns = ["_build", "_parts"]
# all code, with a copy of each script to download; nothing else that the extension offers
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": ".*",
    "subsection_order": ["../examples/fields", "../examples/ideas", "../examples/large"],
    "within_subsection_order": "gallery_look.order",
    "reset_modules": ("gallery_look.reset",),
    "remove_config_comments": True,
    "doc_module": ("angsync",),
    "reference_url": {"angsync": None},
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 3600,
    "write_computation_times": False,
    "thumbnail_size": gallery_look.THUMBNAIL,
    "nested_sections": True,
}
html_static_path = ["_static"]
html_css_files = ["site.css"]
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "angsync"

autodoc_member_order = "bysource"
autodoc_typehints = "description"
# Without this, every array type in a signature unfolds into several lines.
autodoc_type_aliases = {"NDArray": "NDArray", "ArrayLike": "ArrayLike"}
autodoc_preserve_defaults = True
# such a name is shown as it is, not as the class that Sphinx keeps it in
sphinx.util.inspect.TypeAliasForwardRef.__repr__ = lambda self: self.name
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False
# The types are in the signature already, and a name like bool_ would be read as a link here.
napoleon_attr_annotations = False


def write_lab(app: Any, error: Exception | None) -> None:
    """Put the lab next to the pages of the site."""
    if error is None and app.builder.format == "html":
        (Path(app.outdir) / "play.html").write_text(lab_page(release), encoding="utf-8")


def setup(app: Any) -> None:
    app.connect("build-finished", write_lab)
    app.connect("builder-inited", gallery_look.cut_thumbnails, priority=900)  # after the gallery, which has 500
