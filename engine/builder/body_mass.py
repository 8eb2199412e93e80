"""The mass matrix of an affine body from its surface and what was declared about it."""

from __future__ import annotations

import numpy as np

from engine.mesh import mass as masses
from engine.mesh.checks import MeshError, require_closed
from engine.mesh.rest import vertex_areas
from engine.mesh.topology import open_half_edges

DEFAULT_DENSITY = 1000.0  # [kg/m3] turns the mass of an open surface into a volume for the orthogonality energy


def body_moments(name, vertices, triangles, density, mass, inertia, com) -> tuple[np.ndarray, np.ndarray, float]:
    """(moments (4, 4) about the centre of mass, centre of mass (3,) in the mesh frame [m], volume [m3]).

    A closed surface is integrated exactly; density or mass scales it. An open surface needs a mass, spread by area
    over its vertices unless inertia is given. A declared inertia (3, 3) [kg m2] or com (3,) always wins.
    """
    if (density is None) == (mass is None):
        given = "both" if density is not None else "neither"
        raise MeshError(name, "mass", f"give either density [kg/m3] or mass [kg], got {given}")
    for label, value in (("density", density), ("mass", mass)):
        if value is not None and not value > 0.0:
            raise MeshError(name, label, f"is {value!r}; it must be greater than 0")
    closed = len(open_half_edges(triangles)) == 0
    if density is not None:
        require_closed(name, vertices, triangles, "a body with a density")
    if closed:
        require_closed(name, vertices, triangles, "a body")  # refuses inside-out and flat ones
        middle = masses.centre_of_mass(masses.polyhedron_moments(vertices, triangles))
        moments = masses.polyhedron_moments(vertices - middle, triangles)  # far from the origin this rounds less
        volume = float(moments[0, 0])
        total = density * volume if mass is None else float(mass)
        moments *= total / volume
    else:
        total, volume = float(mass), float(mass) / DEFAULT_DENSITY
        share = vertex_areas(vertices, triangles)
        share /= share.sum()
        middle = share @ vertices
        moments = masses.point_moments(vertices - middle, total * share)
    centre = middle if com is None else np.asarray(com, dtype=np.float64)
    if centre.shape != (3,) or not np.isfinite(centre).all():
        raise MeshError(name, "com", f"must be three finite numbers in the mesh frame [m], got {com!r}")
    if inertia is not None:
        try:
            return masses.moments_from_inertia(total, inertia), centre, volume
        except ValueError as error:
            raise MeshError(name, "inertia", str(error)) from error
    # A declared centre keeps the shape's spread: the second moments are those about the shape's own centre.
    moments[0, 1:] = moments[1:, 0] = 0.0  # exactly at the centre of mass, free of rounding
    spread = np.linalg.eigvalsh(moments[1:, 1:])
    if spread[0] <= 1e-12 * spread[-1]:
        raise MeshError(
            name, "mass", "the surface is flat, so its mass matrix is singular; give inertia=(3, 3) or a closed surface"
        )
    return moments, centre, volume
