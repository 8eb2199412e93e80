"""Filling a closed surface with tetrahedra, through the optional package pytetwild (fTetWild).

Chosen for its licence (Mozilla Public Licence 2.0; TetGen would bring the Affero GPL), for wheels on Linux and
Windows, and because it is maintained. Its wheel imports pyvista without asking for it, hence `pytetwild[all]`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from scenes.errors import Place, SceneError

_FILL = """
import numpy as np
import pytetwild
given = np.load("surface.npz")
points, tets = pytetwild.tetrahedralize(
    given["vertices"], given["triangles"], edge_length_fac=float(given["share"]), coarsen=bool(given["coarsen"]),
    quiet=True, num_threads=1)[:2]
np.savez("tets.npz", points=points, tets=tets)
"""  # one thread: more would make the result depend on the machine
FILL_SECONDS = 600.0
_INSTALL = "install it with: pip install 'pytetwild[all]', or give a .vtk or .msh file"


def tetrahedralise(
    vertices: np.ndarray, triangles: np.ndarray, edge_length: float, place: Place | None = None, coarsen: bool = False
) -> tuple[np.ndarray, np.ndarray, Path]:
    """(vertices (n, 3) [m], tets (m, 4), file that keeps them) of a closed surface, by fTetWild (Hu et al. 2020).

    coarsen: join elements that are finer than asked for; without it edges much longer than the details of the surface
    are not reached, with it the worst elements are worse. The surface is kept within a thousandth of its diagonal, not
    exactly. fTetWild gives another mesh each time, so the first one is kept under `cache_folder()` and read from there
    ever after: reload and replay meet the same mesh.
    Raises SceneError when pytetwild is missing or fails, or when edge_length [m] would ask for millions of elements.
    """
    vertices, triangles = np.asarray(vertices, dtype=np.float64), np.asarray(triangles, dtype=np.int32)
    extent = np.ptp(vertices, axis=0)
    wanted = float(np.prod(extent.clip(min=edge_length))) / edge_length**3 * 8.0
    if wanted > 2e6:
        size = " x ".join(f"{e:.3g}" for e in extent)
        raise SceneError(f"edge_length {edge_length:g} m would make some {wanted:.1g} tetrahedra in {size} m", place)
    told = vertices.tobytes() + triangles.tobytes() + np.float64(edge_length).tobytes() + b"coarsen" * coarsen
    key = hashlib.sha256(told).hexdigest()[:24]
    kept = cache_folder() / "tets" / f"{key}.npz"
    if kept.is_file():
        with np.load(kept) as made:
            return made["points"], made["tets"], kept
    points, tets = _fill_apart(vertices, triangles, edge_length, place, coarsen)
    if len(tets) == 0:
        raise SceneError("pytetwild made no tetrahedra: is the surface closed?", place)
    points, tets = np.asarray(points, dtype=np.float64), np.array(tets, dtype=np.int32)
    inverted = np.linalg.det(points[tets[:, 1:]] - points[tets[:, :1]]) < 0.0  # its own order of corners
    tets[inverted] = tets[inverted][:, [0, 2, 1, 3]]
    _keep(kept, points, tets)
    return points, tets, kept


def cache_folder() -> Path:
    """Where made things are kept: TACKTILE_CACHE, else the user's cache folder."""
    if os.environ.get("TACKTILE_CACHE"):
        return Path(os.environ["TACKTILE_CACHE"])
    home = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "tacktile"


def _keep(path: Path, points: np.ndarray, tets: np.ndarray) -> None:
    """Write at once or not at all: another process may read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.npz")
    np.savez(partial, points=points, tets=tets)
    partial.replace(path)


def _fill_apart(vertices: np.ndarray, triangles: np.ndarray, edge_length: float, place: Place | None, coarsen=False):
    """Run fTetWild in a process and folder of its own: it leaves files where it runs, and may crash."""
    if importlib.util.find_spec("pytetwild") is None:
        raise SceneError(
            f"filling a surface with tetrahedra needs the optional package pytetwild; {_INSTALL}",
            place,
        )
    share = float(np.clip(edge_length / np.linalg.norm(np.ptp(vertices, axis=0)), 1e-4, 1.0))
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "surface.npz", vertices=vertices, triangles=triangles, share=share, coarsen=coarsen)
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(os.path.abspath(p) for p in sys.path)}
        try:
            done = subprocess.run(
                [sys.executable, "-c", _FILL], cwd=folder, env=environment, capture_output=True, timeout=FILL_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise SceneError(
                f"filling took longer than {FILL_SECONDS:g} s; choose a larger edge_length", place
            ) from None
        result = Path(folder) / "tets.npz"
        if done.returncode != 0 or not result.is_file():
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
            if "No module named" in said[0]:
                raise SceneError(f"pytetwild cannot be imported ({said[0]}); {_INSTALL}", place)
            raise SceneError(f"pytetwild could not fill the surface: {said[0]}", place)
        with np.load(result) as made:
            return made["points"], made["tets"]
