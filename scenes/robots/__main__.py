"""Write all robots: `python -m scenes.robots [FOLDER]`, by default into assets/robots."""

from __future__ import annotations

import sys
from pathlib import Path

from scenes.robots.models import ROBOTS
from scenes.robots.parts import RobotParts, write_urdf

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "robots"


def write_all(folder: Path = FOLDER) -> list[Path]:
    """NAME.urdf, NAME.sensors.yaml and the meshes of every robot; the files written, sorted."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in ROBOTS.items():
        robot = make()
        write_urdf(robot, folder / f"{name}.urdf")
        _write_sensors(robot, folder / f"{name}.sensors.yaml")
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _write_sensors(robot: RobotParts, path: Path) -> None:
    lines = [f"# Pads of {robot.name}.urdf; made by `python -m scenes.robots`.", "sensors:"]
    lines += [f"  {name}: {{{text}}}" for name, text in robot.sensors.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for written in write_all(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER):
        print(written)
