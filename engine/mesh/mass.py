"""Masses: exact integrals over closed polyhedra and lumped masses of shells and solids.

A body's mass matrix is the 4x4 matrix M = integral of rho [1, X][1, X]^T dV over its rest shape: the kinetic energy of
an affine motion with node velocities q0 (origin), q1..q3 (columns of A) is 1/2 sum_kl M_kl q_k . q_l
(Lan et al. 2022, "Affine body dynamics"). See docs/physics/inertia.md.
"""

from __future__ import annotations

import numpy as np

from engine.mesh.rest import tet_volumes, triangle_areas


def polyhedron_moments(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Integral of [1, X][1, X]^T over the inside of a closed, outward-wound surface: [m3, m4, m5], float64 (4, 4).

    Exact: the sum over triangles of signed tetrahedra with a common apex (divergence theorem; Blow & Binstock 2004).
    For a tetrahedron (0, a, b, c) of volume V and s = a + b + c: int X = V s / 4,
    int X X^T = V/20 (a a^T + b b^T + c c^T + s s^T). The apex is the middle of the bounding box, which keeps rounding
    relative to the shape's size rather than to its distance from the origin. An open surface gives nonsense:
    see `topology.open_half_edges`.
    """
    vertices = np.asarray(vertices, dtype=np.float64)
    apex = 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
    corners = vertices[np.asarray(triangles)] - apex  # (nt, 3, 3)
    volume = np.einsum("ij,ij->i", np.cross(corners[:, 0], corners[:, 1]), corners[:, 2]) / 6.0
    total = corners.sum(axis=1)
    moments = np.zeros((4, 4))
    moments[0, 0] = volume.sum()
    moments[0, 1:] = moments[1:, 0] = np.einsum("i,ij->j", volume, total) / 4.0
    squares = np.einsum("ikj,ikl->ijl", corners, corners) + np.einsum("ij,il->ijl", total, total)
    moments[1:, 1:] = np.einsum("i,ijl->jl", volume, squares) / 20.0
    return shift_moments(moments, -apex)


def point_moments(positions: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """Sum of m_i [1, X_i][1, X_i]^T, float64 (4, 4). positions (n, 3), masses (n,)."""
    lifted = np.column_stack([np.ones(len(positions)), positions])
    moments = np.einsum("i,ij,ik->jk", masses, lifted, lifted)
    return 0.5 * (moments + moments.T)  # symmetric to the last bit


def shift_moments(moments: np.ndarray, origin: np.ndarray) -> np.ndarray:
    """The same mass seen from another origin: X' = X - origin. moments (4, 4), origin (3,)."""
    shift = np.eye(4)
    shift[1:, 0] = -np.asarray(origin)
    shifted = shift @ moments @ shift.T
    return 0.5 * (shifted + shifted.T)  # symmetric to the last bit


def centre_of_mass(moments: np.ndarray) -> np.ndarray:
    """First moment over mass [m], float64 (3,)."""
    return moments[0, 1:] / moments[0, 0]


def inertia_from_moments(moments: np.ndarray) -> np.ndarray:
    """Inertia tensor about the origin of the moments [kg m2], float64 (3, 3): I = tr(S) 1 - S."""
    second = moments[1:, 1:]
    return np.trace(second) * np.eye(3) - second


def moments_from_inertia(mass: float, inertia: np.ndarray) -> np.ndarray:
    """Mass matrix about the centre of mass from mass [kg] and inertia tensor there [kg m2]: S = tr(I)/2 1 - I, (4, 4).

    S is positive definite only when the principal moments obey the triangle inequality strictly; otherwise no
    distribution of mass with volume has this inertia, and ValueError names the moments.
    """
    inertia = np.asarray(inertia, dtype=np.float64)
    if inertia.shape != (3, 3) or not np.allclose(inertia, inertia.T, rtol=1e-6, atol=1e-12 * np.abs(inertia).max()):
        raise ValueError(f"inertia must be a symmetric (3, 3) matrix, got shape {inertia.shape}:\n{inertia}")
    second = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    if np.linalg.eigvalsh(second)[0] <= 1e-9 * np.trace(second):
        principal = np.linalg.eigvalsh(inertia)
        raise ValueError(
            f"principal moments of inertia {principal[0]:.3g}, {principal[1]:.3g}, {principal[2]:.3g} kg m2 break the "
            "triangle inequality (each must be smaller than the sum of the other two)"
        )
    moments = np.zeros((4, 4))
    moments[0, 0] = mass
    moments[1:, 1:] = second
    return moments


def lumped_shell_mass(vertices: np.ndarray, triangles: np.ndarray, area_density: float) -> np.ndarray:
    """A third of each triangle's mass at each corner [kg], float64 (n,). area_density = density * thickness [kg/m2]."""
    third = np.repeat(triangle_areas(vertices, triangles) * (area_density / 3.0), 3)
    return np.bincount(triangles.reshape(-1), weights=third, minlength=len(vertices))


def lumped_solid_mass(vertices: np.ndarray, tets: np.ndarray, density: float) -> np.ndarray:
    """A quarter of each tetrahedron's mass at each corner [kg], float64 (n,). density [kg/m3]."""
    quarter = np.repeat(tet_volumes(vertices, tets) * (density / 4.0), 4)
    return np.bincount(tets.reshape(-1), weights=quarter, minlength=len(vertices))
