"""Case `meshes`: the press scene on real parts from files, when the reference data lies beside the checkout."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
import yaml

from bench.registry import Emit, Unavailable
from bench.scripted_run import play

DESCRIPTION = "the tactile press on every pattern and on parts C1 to C10: defects named, steps converged, contacts"
ROOT = Path(__file__).resolve().parents[1]
TOP = 0.0221  # [m] height of a part's highest point: where the shipped relief's bump ends


def run(emit: Emit, compute: str) -> None:
    shared = Path(os.environ.get("TACKTILE_SHARED", ROOT.parent / "shared")) / "data" / "taccel"
    patterns = sorted((shared / "patterns").glob("*.stl"))
    parts = [shared / "mech" / f"C{i}.stl" for i in range(1, 11)]
    parts = [path for path in parts if path.exists()]
    if not patterns and not parts:
        raise Unavailable(f"no meshes at {shared}; set TACKTILE_SHARED to the folder of the reference data")
    ran = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in patterns:  # millimetres, face up
            ran += _press(emit, compute, path, "mm", (0.0, 0.0, 0.0), Path(folder))
        for path in parts:  # metres, long along z: laid down
            ran += _press(emit, compute, path, "m", (0.0, 90.0, 0.0), Path(folder))
    emit("meshes.ran", ran, "meshes")
    emit("meshes.asked", len(patterns) + len(parts), "meshes")


def _press(emit: Emit, compute: str, path: Path, units: str, degrees, folder: Path) -> bool:
    """Plays the press script on one mesh; False, told, when the scene refuses it."""
    from scenes import SceneError
    from scenes.mesh_files import read_surface

    name = f"meshes.{path.stem}"
    surface = read_surface(path, units)
    emit(f"{name}.triangles", len(surface.triangles))
    for defect in surface.defects:
        emit(f"{name}.defects.{defect.kind.replace(' ', '_')}", defect.count)
        emit.status(f"{path.stem}: {defect}")
    run = None
    for repair in (False, True):
        file = _scene_file(folder, path, units, repair, degrees, surface.vertices)
        try:
            run = play(str(file), compute)
            break
        except SceneError as error:
            emit.status(f"{path.stem}, {'repaired' if repair else 'as it is'}: {error}")
            refusal = error
    if run is None:
        emit(f"{name}.refused", 1)
        emit.status(f"{path.stem} was refused: {refusal}")
        return False
    emit(f"{name}.repaired", repair)
    for note in run.session.scene.notes:
        emit.status(f"{path.stem}: {note}")
    reports = run.reports
    emit(f"{name}.converged", sum(report.converged for report in reports) / len(reports), "of_steps")
    emit(f"{name}.contacts_most", max(report.contacts for report in reports))
    emit(f"{name}.steps_in_contact", sum(report.contacts > 0 for report in reports), "steps")
    emit(f"{name}.newton_per_step", np.mean([report.newton_iterations for report in reports]))
    emit(f"{name}.realtime_factor", run.simulated / run.wall)
    return True


def _scene_file(folder: Path, path: Path, units: str, repair: bool, degrees, vertices: np.ndarray) -> Path:
    """The shipped press scene with the mesh in place of the relief, its highest point at TOP, centred below the pad."""
    from scenes.motion import rotation_matrix

    turned = vertices @ rotation_matrix(np.radians(degrees)).T
    low, high = turned.min(axis=0), turned.max(axis=0)
    middle = 0.5 * (low + high)
    position = [float(-middle[0]), float(-middle[1]), float(TOP - high[2])]
    shipped = yaml.safe_load((ROOT / "scenes" / "tactile_press.yaml").read_text(encoding="utf-8"))
    shipped["include"] = str(ROOT / "scenes" / shipped["include"])
    shipped["script"] = str(ROOT / "scenes" / shipped["script"])
    shipped["entities"]["part"] |= {
        "shape": {"type": "mesh", "file": str(path), "units": units, "repair": repair},
        "position": position,
        "rotation": [f"{angle} deg" for angle in degrees],
    }
    file = folder / f"press_{path.stem}.yaml"
    file.write_text(yaml.safe_dump(shipped), encoding="utf-8")
    return file
