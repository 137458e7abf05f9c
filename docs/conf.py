"""Sphinx settings. The build needs no network: nothing here refers to other projects' inventories."""

import os
from importlib.metadata import version as installed_version
from pathlib import Path

# many small products: threads would cost more than they give (set before NumPy is loaded)
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

project = "angsync"
author = "the angsync developers"
copyright = "2026, the angsync developers"
release = version = installed_version("angsync")

HERE = Path(__file__).parent


def write_reproduction() -> None:
    """The rows of a quick reproduction run, measured for this build, as a page part that theory.md includes.

    The run is kept in _build and reused while the sources are the same; it takes about a minute when they are not.
    """
    from angsync.study.reproduce import run_experiments

    kept = HERE / "_build" / "reproduce"
    kept.mkdir(parents=True, exist_ok=True)
    results = run_experiments(kept / "results.json", quick=True)
    lines = []
    for row in results["rows"]:
        verdict = "held" if row["held"] else "VIOLATED"
        lines.append(f"- **{row['id']}**, {verdict}: `{row['claim']}`\n\n  `{row['measured']}` ({row['cases']} cases)")
    generated = HERE / "_generated"
    generated.mkdir(exist_ok=True)
    (generated / "reproduction.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


write_reproduction()

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    # MathJax from a package instead of a network, so that formulas show offline
    "sphinx-mathjax-offline",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build", "_generated"]
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
