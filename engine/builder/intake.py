"""Reading what a caller passes: arrays of the right shape, finite numbers, legal indices, rigid transforms."""

from __future__ import annotations

import numpy as np

from engine.mesh.checks import MeshError


def as_vertices(name: str, vertices, what: str = "vertices") -> np.ndarray:
    """float64 (n, 3), finite. Raises MeshError naming the first bad row."""
    array = np.array(vertices, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != 3 or len(array) == 0:
        raise MeshError(name, what, f"{what} must be an (n, 3) array of positions in metres, got shape {array.shape}")
    bad = ~np.isfinite(array).all(axis=1)
    if bad.any():
        i = int(np.argmax(bad))
        raise MeshError(name, f"vertex {i}", f"{what}[{i}] is {array[i].tolist()}; every coordinate must be finite")
    return array


def as_elements(name: str, elements, corners: int, what: str, num_vertices: int) -> np.ndarray:
    """int64 (m, corners), indices in range. Raises MeshError naming the element."""
    array = np.asarray(elements)
    if array.ndim != 2 or array.shape[1] != corners or len(array) == 0:
        raise MeshError(name, f"{what}s", f"{what}s must be an (m, {corners}) array of vertex ids, got {array.shape}")
    if not np.issubdtype(array.dtype, np.integer):
        raise MeshError(name, f"{what}s", f"{what}s must hold integers, got {array.dtype}")
    array = array.astype(np.int64)
    bad = ((array < 0) | (array >= num_vertices)).any(axis=1)
    if bad.any():
        i = int(np.argmax(bad))
        raise MeshError(
            name, f"{what} {i}", f"vertex ids {array[i].tolist()} are out of range; legal: 0..{num_vertices - 1}"
        )
    return array


def as_mask(name: str, indices, num_vertices: int, what: str) -> np.ndarray:
    """bool (n,) from a mask, a list of vertex ids or None."""
    mask = np.zeros(num_vertices, dtype=bool)
    if indices is None:
        return mask
    array = np.asarray(indices)
    if array.dtype == bool:
        if array.shape != (num_vertices,):
            raise MeshError(name, what, f"a mask must have shape ({num_vertices},), got {array.shape}")
        return array.copy()
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise MeshError(name, what, f"must hold vertex ids or a mask, got {array.dtype}")
    bad = (array < 0) | (array >= num_vertices)
    if bad.any():
        value = int(array.reshape(-1)[int(np.argmax(bad))])
        raise MeshError(name, what, f"vertex id {value} is out of range; legal: 0..{num_vertices - 1}")
    mask[array.astype(np.int64).reshape(-1)] = True
    return mask


def as_velocity(name: str, velocity, num_vertices: int) -> np.ndarray:
    """float64 (n, 3) from None, (3,) or (n, 3) [m/s]."""
    if velocity is None:
        return np.zeros((num_vertices, 3))
    array = np.asarray(velocity, dtype=np.float64)
    if array.shape not in ((3,), (num_vertices, 3)) or not np.isfinite(array).all():
        raise MeshError(
            name, "velocity", f"must be finite with shape (3,) or ({num_vertices}, 3), got shape {array.shape}"
        )
    return np.broadcast_to(array, (num_vertices, 3)).copy()


def as_rigid_transform(name: str, transform) -> np.ndarray:
    """float64 (4, 4), rotation and translation only. Raises MeshError when it scales, shears or mirrors."""
    if transform is None:
        return np.eye(4)
    matrix = np.asarray(transform, dtype=np.float64)
    if matrix.shape != (4, 4) or not np.isfinite(matrix).all():
        raise MeshError(name, "transform", f"must be a finite (4, 4) matrix mesh -> world, got shape {matrix.shape}")
    rotation = matrix[:3, :3]
    error = float(np.abs(rotation.T @ rotation - np.eye(3)).max())
    if error > 1e-6 or np.linalg.det(rotation) < 0.0 or not np.allclose(matrix[3], (0.0, 0.0, 0.0, 1.0)):
        raise MeshError(
            name,
            "transform",
            f"must be a rotation and a translation (|R^T R - 1| is {error:.2g}, det R {np.linalg.det(rotation):.3g}); "
            "scale the vertices instead",
        )
    return matrix


def unit_vector(owner: str, vector) -> np.ndarray:
    """float64 (3,) of length 1. Raises ValueError for a zero or malformed vector."""
    array = np.asarray(vector, dtype=np.float64)
    if array.shape != (3,) or not np.isfinite(array).all() or not np.linalg.norm(array) > 0.0:
        raise ValueError(f"{owner} is {vector!r}; it must be a finite vector of three numbers that is not zero")
    return array / np.linalg.norm(array)


def transform_points(transform: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Apply a (4, 4) transform to (n, 3) points."""
    return points @ transform[:3, :3].T + transform[:3, 3]
