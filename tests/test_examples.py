"""The examples that a reader meets first run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BESIDE_THE_APPLICATION = "tracker_adapter.py"  # feeds a running one: tests/devices/test_network.py
EXAMPLES = sorted(p for p in (ROOT / "docs" / "examples").glob("*.py") if p.name != BESIDE_THE_APPLICATION)


def _run(folder: Path, *arguments: str) -> str:
    """Standard output of Python in an empty folder, with the checkout on the path as in its environment."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda p: p.stem)
def test_example_runs(example, tmp_path):
    assert _run(tmp_path, str(example)).strip()


def test_the_strip_does_what_the_example_says(tmp_path):
    said = _run(tmp_path, str(ROOT / "docs" / "examples" / "strip_over_box.py"))
    assert "step " not in said.replace("last step", ""), "a step of the example did not converge"
    dropped = float(re.search(r"went down by ([\d.]+) mm", said)[1])
    assert 39.0 < dropped < 41.0  # the hand sinks by 40 mm and the end rides on it
    assert int(re.search(r"(\d+) contacts", said)[1]) > 0  # the strip lies on the edge
    assert "resumed to the bit: True" in said


def test_python_in_the_readme_runs(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        (tmp_path / "block.py").write_text(block, encoding="utf-8")
        _run(tmp_path, "block.py")
