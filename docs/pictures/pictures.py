"""Makes overview.png and network.png: runs the first block of docs/pictures.md here."""

import os
import re
from pathlib import Path

here = Path(__file__).resolve().parent
page = (here.parent / "pictures.md").read_text(encoding="utf-8")
code = re.findall(r"^```python\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)[0]
os.chdir(here)
exec(code.replace('.png")', '.png", dpi=80)'))
(here / "residuals.png").unlink()  # described, not shown
