"""What the compiler says about itself."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path


def optional_passes(gnnc: Path) -> list[str]:
    """What `gnnc compile --without` takes, as its help lists it."""
    text = subprocess.run([str(gnnc), "compile", "--help"], check=True, capture_output=True, text=True).stdout
    return re.search(r"--without TEXT:\{([^}]*)\}", text)[1].split(",")
