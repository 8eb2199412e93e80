"""Packages: the lock file pins everything, and the wheel brings one name only."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pytest brings it there

ROOT = Path(__file__).resolve().parents[1]


def _key(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_lock_file_pins_every_requirement_and_names_no_host():
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    lines = [line for line in lock.splitlines() if line and not line.startswith("#")]
    loose = [line for line in lines if not re.match(r"[\w.-]+==[\w.+!]+( ; .+)?$", line)]
    assert not loose, "pinned lines only: no address of an index, no path, no range"
    pinned = {_key(line.split("==")[0]) for line in lines}
    package = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = sum(package["optional-dependencies"].values(), package["dependencies"])
    asked = {_key(re.match(r"[\w.-]+", name)[0]) for name in wanted} - {"tacktile"}
    assert "warp-lang" in asked and "pytest" in asked
    assert asked <= pinned


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = folder.glob("*.whl")
    return made


def test_wheel_brings_one_name(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"tacktile"}
    rooms = {name.split("/")[2] for name in names if name.startswith("tacktile/house/")}
    assert rooms == {"app", "engine", "scenes", "devices", "assets"}
    assert "tacktile/house/scenes/strip_on_box.yaml" in names and "tacktile/house/assets/keymap.yaml" in names
    assert not [name for name in names if "/app/installed" in name]


def _python(wheel: Path, folder: Path, code: str) -> subprocess.CompletedProcess:
    """Runs code with the unpacked wheel on the path, away from the checkout."""
    zipfile.ZipFile(wheel).extractall(folder / "site")
    environment = os.environ | {"PYTHONPATH": str(folder / "site")}
    return subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True)


def test_installed_package_imports_its_own_rooms(wheel, tmp_path):
    code = (
        "import sys\n"
        "from tacktile import Episode, list_episodes\n"
        "assert 'warp' not in sys.modules, 'reading recordings needs no engine'\n"
        "from tacktile import ModelBuilder, Options, main\n"
        "import app.record, engine, scenes.config\n"
        "assert app.record.Episode is Episode\n"
        "assert engine.ModelBuilder is ModelBuilder and engine.Options is Options\n"
        "print(engine.__file__, *[name for name, _, _ in scenes.config.list_scenes()])"
    )
    done = _python(wheel, tmp_path, code)
    assert done.returncode == 0, done.stderr
    assert str(tmp_path / "site" / "tacktile" / "house" / "engine") in done.stdout
    assert "strip_on_box" in done.stdout


def test_installed_package_names_a_room_that_is_taken(wheel, tmp_path):
    (tmp_path / "devices.py").write_text("", encoding="utf-8")
    done = _python(wheel, tmp_path, "import devices\nimport tacktile")
    assert done.returncode != 0
    assert "tacktile needs the import name 'devices', which this process already uses for" in done.stderr
