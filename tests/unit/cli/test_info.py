"""``angsync info``."""

from __future__ import annotations

import importlib.metadata
import re

import numpy as np
from command_line import call

VERSION = importlib.metadata.version("angsync")


def test_info():
    assert re.search(rf"^angsync +{re.escape(VERSION)}", call("info").stdout, flags=re.MULTILINE)
    assert call("info", "--json").object["numpy"] == np.__version__
