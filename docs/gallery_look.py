"""How the pictures of the gallery look, and in which order the examples come."""

from pathlib import Path
from typing import Any

FIRST = (
    "clocks", "ranking", "phase_retrieval", "insar", "pose_graph", "beam_optics", "radio", "sensor_network",
    "certified_phases", "certificate_threshold", "leaving_a_local_maximum", "cramer_rao", "weights_and_error_bars",
    "coverage", "outliers", "anchors", "weak_spots", "your_own_operator",
    "stack_of_problems", "hundred_thousand_nodes",
)  # fmt: skip
"""The examples in the order in which they are shown; a test sees that none is missing."""

STYLE = {
    "figure.dpi": 110,
    "figure.constrained_layout.use": True,
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": "medium",
    "axes.titleweight": "bold",
    "axes.prop_cycle": "cycler('color', ['#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9'])",
    "legend.frameon": False,
    "image.cmap": "viridis",
    "image.interpolation": "nearest",
}


def reset(_settings: dict[str, Any], _name: str) -> None:
    """Before each example: matplotlib as it comes, with the style above."""
    import matplotlib.pyplot as plt

    plt.rcdefaults()
    plt.rcParams.update(STYLE)


def order(name: str) -> tuple[int, str]:
    """The key by which examples are sorted."""
    stem = Path(name).stem
    return (FIRST.index(stem) if stem in FIRST else len(FIRST), stem)


# The part of each picture that its thumbnail shows: left, top, right and bottom as shares of it.
CROPS = {
    "clocks": (0.02, 0.08, 0.46, 1.0),
    "ranking": (0.09, 0.0, 0.93, 0.93),
    "phase_retrieval": (0.29, 0.09, 0.58, 1.0),
    "insar": (0.0, 0.09, 0.59, 0.98),
    "pose_graph": (0.54, 0.06, 1.0, 0.87),
    "beam_optics": (0.08, 0.06, 0.62, 0.63),
    "radio": (0.06, 0.06, 0.58, 0.86),
    "sensor_network": (0.5, 0.06, 1.0, 1.0),
    "certified_phases": (0.0, 0.09, 0.84, 0.97),
    "leaving_a_local_maximum": (0.0, 0.06, 0.5, 1.0),
    "cramer_rao": (0.0, 0.08, 0.53, 1.0),
    "weights_and_error_bars": (0.08, 0.09, 1.0, 0.9),
    "coverage": (0.0, 0.06, 0.58, 0.9),
    "outliers": (0.0, 0.06, 0.48, 0.9),
    "anchors": (0.0, 0.06, 0.84, 0.97),
    "your_own_operator": (0.0, 0.06, 0.44, 1.0),
    "weak_spots": (0.0, 0.55, 0.86, 1.0),
    "stack_of_problems": (0.0, 0.08, 0.67, 1.0),
    "hundred_thousand_nodes": (0.0, 0.14, 0.42, 1.0),
}
THUMBNAIL, MARGIN = (480, 320), 14  # pixels


def cut_thumbnails(app: Any) -> None:
    """Thumbnails of a part of each first picture, in place of whole pictures with labels too small to read."""
    from PIL import Image

    for picture in Path(app.srcdir, "gallery").glob("*/images/sphx_glr_*_001.png"):
        stem = picture.stem.removeprefix("sphx_glr_").removesuffix("_001")
        with Image.open(picture) as whole:
            left, top, right, bottom = CROPS.get(stem, (0, 0, 1, 1))
            width, height = whole.size
            part = whole.convert("RGB").crop(
                (int(left * width), int(top * height), int(right * width), int(bottom * height))
            )
        part.thumbnail((THUMBNAIL[0] - 2 * MARGIN, THUMBNAIL[1] - 2 * MARGIN), Image.Resampling.LANCZOS)
        card = Image.new("RGB", THUMBNAIL, "white")
        card.paste(part, ((THUMBNAIL[0] - part.width) // 2, (THUMBNAIL[1] - part.height) // 2))
        card.save(picture.parent / "thumb" / f"sphx_glr_{stem}_thumb.png")
