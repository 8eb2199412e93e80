"""The one place that knows where the reference data lies: beside the checkout, or where TACKTILE_SHARED says."""

from __future__ import annotations

import os
from pathlib import Path


def shared_path(*parts: str) -> Path | None:
    """Path inside the shared folder, or None when the folder or the file is not there (tests then skip, saying so)."""
    root = Path(os.environ.get("TACKTILE_SHARED", Path(__file__).resolve().parents[2] / "shared"))
    path = root.joinpath(*parts)
    return path if path.exists() else None
