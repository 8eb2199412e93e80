"""Surfaces from Collada files, through trimesh and pycollada: in the metres that the file's own unit makes.

Nodes of the file's scene are placed by their matrices. `up_axis` is not applied, as robot tools have it: a URDF's mesh
is in the link's axes. Textures and materials are not read.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from scenes.errors import Place, SceneError
from scenes.mesh_files import read_bytes
from scenes.urdf import refuse_entities


def read_dae(path: Path, place: Place | None) -> tuple[np.ndarray, np.ndarray]:
    """(vertices (n, 3) [m], triangles (t, 3)). Raises SceneError for what is not Collada or holds no triangles."""
    import collada
    import trimesh

    data = read_bytes(path, place)
    refuse_entities(path.name, data, place)
    try:
        unit = collada.Collada(io.BytesIO(data), ignore=[collada.common.DaeError]).assetInfo.unitmeter
        scene = trimesh.load_scene(io.BytesIO(data), file_type="dae")
        mesh = scene.to_mesh()
        vertices, triangles = np.array(mesh.vertices, dtype=np.float64), np.array(mesh.faces, dtype=np.int64)
    except Exception as error:  # the parsers raise whatever they meet
        what = f"{type(error).__name__}: {error}"
        raise SceneError(f"{path.name} is not a readable Collada file: {what}", place) from None
    return vertices * float(unit or 1.0), triangles
