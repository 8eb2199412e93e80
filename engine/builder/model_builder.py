"""ModelBuilder: the one way to make a Model. Add parts by name, then `finalize`.

Frames and units: docs/conventions.md. Masses: docs/physics/inertia.md.
"""

from __future__ import annotations

import numpy as np

from engine.builder import intake
from engine.builder.adhesion import adhesion_part
from engine.builder.body_mass import body_moments
from engine.builder.parts import BodyPart, JointPart, MeshPart
from engine.materials import (
    ContactMaterial,
    JointDrive,
    JointFriction,
    JointSpring,
    ShellMaterial,
    SolidMaterial,
)
from engine.mesh import checks, mass
from engine.mesh.topology import boundary_of_tets
from engine.types import Model

CARRIER_LEVER = 0.02  # [m] over which joints tie the directions of a body without a mesh
JOINT_KINDS = ("fixed", "revolute", "prismatic", "spherical")


class ModelBuilder:
    """Collects shells, solids, bodies, statics, ties and joints of one world; `finalize` makes W worlds of it.

    Each `add_` call checks its mesh at once and raises `engine.mesh.checks.MeshError` naming mesh and element.
    `model_warnings` collects what is legal but suspicious (units, nesting); `finalize` copies it to Model.warnings.
    """

    def __init__(self, gravity=(0.0, 0.0, -9.81)):
        """gravity: acceleration in the world frame [m/s2], (3,)."""
        gravity = np.asarray(gravity, dtype=np.float64)
        if gravity.shape != (3,) or not np.isfinite(gravity).all():
            raise ValueError(f"ModelBuilder.gravity is {gravity!r}; it must be three finite numbers [m/s2]")
        self.gravity = tuple(float(g) for g in gravity)
        self.parts: dict[str, MeshPart] = {}
        self.bodies: dict[str, BodyPart] = {}
        self.joints: dict[str, JointPart] = {}
        self.rolls: dict = {}  # name -> engine.tape.cluster.ClusterSpec
        self.ignored_meshes: set[tuple[str, str]] = set()
        self.ignored_layers: set[tuple[int, int]] = set()
        self.adhesion: list = []
        self.model_warnings: list[str] = []

    # Deformable parts -------------------------------------------------------------------------------------------
    def add_shell(
        self,
        name: str,
        vertices,
        triangles,
        material: ShellMaterial | None = None,
        contact: ContactMaterial | None = None,
        rest_vertices=None,
        pinned=None,
        velocity=None,
    ) -> None:
        """A thin sheet. vertices (n, 3) world [m], triangles (t, 3).

        rest_vertices (n, 3): shape without stress (lengths and hinge angles), default `vertices`. pinned: vertex ids
        or mask of points that never move. velocity (3,) or (n, 3) [m/s].
        """
        material, contact = material or ShellMaterial(), contact or ContactMaterial()
        self._claim(name)
        x = intake.as_vertices(name, vertices)
        t = intake.as_elements(name, triangles, 3, "triangle", len(x))
        rest = x if rest_vertices is None else intake.as_vertices(name, rest_vertices, "rest_vertices")
        if rest.shape != x.shape:
            raise checks.MeshError(name, "rest_vertices", f"shape must be {x.shape} like vertices, got {rest.shape}")
        checks.check_shell(name, x, t, rest, self.model_warnings)
        self.parts[name] = MeshPart(
            name, "shell", x, t, contact, rest.copy(), material,
            point_mass=mass.lumped_shell_mass(rest, t, material.density * material.thickness),
            velocity=intake.as_velocity(name, velocity, len(x)),
            pinned=intake.as_mask(name, pinned, len(x), "pinned"),
            carrier=np.full(len(x), -1),
        )  # fmt: skip

    def add_solid(
        self,
        name: str,
        vertices,
        tets,
        material: SolidMaterial | None = None,
        contact: ContactMaterial | None = None,
        pinned=None,
        surface=None,
        velocity=None,
    ) -> None:
        """A soft solid. vertices (n, 3) world [m], also its rest shape; tets (m, 4), positively oriented.

        surface (t, 3): triangles that collide, default the boundary of the tets. Points off the surface do not
        collide. pinned, velocity: as for `add_shell`.
        """
        material, contact = material or SolidMaterial(), contact or ContactMaterial()
        self._claim(name)
        x = intake.as_vertices(name, vertices)
        m = intake.as_elements(name, tets, 4, "tet", len(x))
        checks.check_tets(name, x, m, self.model_warnings)
        t = boundary_of_tets(m) if surface is None else intake.as_elements(name, surface, 3, "triangle", len(x))
        checks.check_triangles(name, x, t)
        self.parts[name] = MeshPart(
            name, "solid", x, t, contact, x.copy(), material, tets=m,
            point_mass=mass.lumped_solid_mass(x, m, material.density),
            velocity=intake.as_velocity(name, velocity, len(x)),
            pinned=intake.as_mask(name, pinned, len(x), "pinned"),
            carrier=np.full(len(x), -1),
        )  # fmt: skip

    # Stiff parts ------------------------------------------------------------------------------------------------
    def add_body(
        self,
        name: str,
        vertices,
        triangles,
        contact: ContactMaterial | None = None,
        density: float | None = None,
        mass: float | None = None,
        inertia=None,
        transform=None,
        stiffness: float = 1e8,
        driven: bool = False,
        force_limit: float | None = None,
        velocity=None,
        gravity: bool = True,
        visual=None,
        com=None,
        drive_stiffness: float = 1e5,
    ) -> None:
        """A stiff affine body. vertices (n, 3) in the mesh frame [m], transform (4, 4) mesh -> world, rigid.

        Give density [kg/m3] for a closed surface, or mass [kg]. An open surface needs mass; its inertia (3, 3) about
        the centre of mass in mesh axes [kg m2] and com (3,) in the mesh frame [m] default to the mass spread evenly
        over the surface. stiffness: kappa_s [Pa] of |A^T A - 1|^2. driven: follows Control.body_transform, with
        force_limit [N] (None = none) and first penalty drive_stiffness [N/m]. velocity (6,): centre of mass [m/s],
        angular [rad/s], world axes. gravity=False: floats. visual: passed through to MeshInfo.
        """
        self._claim(name)
        x = intake.as_vertices(name, vertices)
        t = intake.as_elements(name, triangles, 3, "triangle", len(x))
        for label, value in (("stiffness", stiffness), ("drive_stiffness", drive_stiffness)):
            _require_positive(f"body '{name}': {label}", value)
        if force_limit is not None:
            _require_positive(f"body '{name}': force_limit", force_limit)
        pose = intake.as_rigid_transform(name, transform)
        checks.check_surface(name, x, t, self.model_warnings)
        moments, centre, volume = body_moments(name, x, t, density, mass, inertia, com)
        twist = np.zeros(6) if velocity is None else np.asarray(velocity, dtype=np.float64)
        if twist.shape != (6,) or not np.isfinite(twist).all():
            raise checks.MeshError(name, "velocity", f"must be (6,) finite: linear, angular; got shape {twist.shape}")
        self.bodies[name] = BodyPart(
            name, len(self.parts), centre, pose[:3, :3].copy(), intake.transform_points(pose, centre), moments, volume,
            stiffness, driven, force_limit, drive_stiffness, twist, gravity,
        )  # fmt: skip
        self.parts[name] = MeshPart(
            name, "body", intake.transform_points(pose, x), t, contact or ContactMaterial(), x,
            body=len(self.bodies) - 1, visual=visual,
        )  # fmt: skip

    def add_carrier(self, name: str, origin, stiffness: float, gravity: bool = True) -> None:
        """An affine body without a mesh and without mass of its own, for points to ride on (a roll's wound cluster).

        origin (3,): its origin at the start [m], axes along the world's; stiffness: of its orthogonality energy [J]
        (kappa_s times the volume that will ride on it). While nothing rides on it, it takes no part.
        """
        self._claim(name)
        _require_positive(f"carrier '{name}': stiffness", stiffness)
        self.bodies[name] = BodyPart(
            name, -1, np.zeros(3), np.eye(3), np.asarray(origin, dtype=np.float64).reshape(3), np.zeros((4, 4)), 1.0,
            stiffness, gravity=gravity,
        )  # fmt: skip

    def add_cluster(self, name: str, spec) -> None:
        """Let the wound part of a strip ride on a carrier: spec is an engine.tape.cluster.ClusterSpec."""
        if spec.carrier not in self.bodies:
            there = ", ".join(self.bodies) or "none"
            raise ValueError(f"cluster '{name}': no carrier '{spec.carrier}'; bodies: {there}")
        self._mesh(spec.mesh)
        self.rolls[name] = spec

    def add_static(
        self, name: str, vertices, triangles, contact: ContactMaterial | None = None, transform=None
    ) -> None:
        """Immovable geometry. vertices (n, 3) in the mesh frame [m], transform (4, 4) mesh -> world, rigid."""
        self._claim(name)
        x = intake.as_vertices(name, vertices)
        t = intake.as_elements(name, triangles, 3, "triangle", len(x))
        pose = intake.as_rigid_transform(name, transform)
        checks.check_surface(name, x, t, self.model_warnings)
        world = intake.transform_points(pose, x)
        self.parts[name] = MeshPart(name, "static", world, t, contact or ContactMaterial(), x)

    # Ties -------------------------------------------------------------------------------------------------------
    def attach(self, mesh: str, point_indices, body: str, ignore_contact: bool = True) -> None:
        """Let vertices of a shell or solid ride on a body, at their current place.

        They lose their own unknowns; their mass joins the body's. ignore_contact: the mesh and the body no longer
        touch each other (next to an attached point their distance is zero).
        """
        part = self._mesh(mesh)
        if part.kind not in ("shell", "solid"):
            raise ValueError(f"attach: mesh '{mesh}' is a {part.kind}; only vertices of a shell or solid can ride")
        index = self._body_index(body, f"attach of mesh '{mesh}'")
        mask = intake.as_mask(mesh, point_indices, len(part.vertices), "attach")
        if not mask.any():
            raise checks.MeshError(mesh, "attach", f"no vertex was named to ride on body '{body}'")
        for taken, why in ((mask & part.pinned, "is pinned"), (mask & (part.carrier >= 0), "already rides on a body")):
            if taken.any():
                i = int(np.argmax(taken))
                raise checks.MeshError(mesh, f"vertex {i}", f"cannot ride on body '{body}': it {why}")
        part.carrier[mask] = index
        if ignore_contact:
            self.ignore_contact(mesh, body)

    def add_joint(
        self,
        name: str,
        kind: str,
        parent: str | None,
        child: str,
        anchor,
        axis=None,
        lower: float | None = None,
        upper: float | None = None,
        drive: JointDrive | None = None,
        stiffness: float = 1e6,
        position: float = 0.0,
        ignore_contact: bool = True,
        spring: JointSpring | None = None,
        friction: JointFriction | None = None,
    ) -> None:
        """Tie two bodies. kind: fixed, revolute, prismatic or spherical; parent None (or a static mesh) = the world.

        anchor (3,) world [m]; axis (3,) world (revolute, prismatic; positive = child turns or moves about it relative
        to the parent). lower, upper [m or rad] and drive act on the joint coordinate, which is `position` at the
        start. stiffness [N/m] of the ties. ignore_contact: the two bodies do not touch each other. spring, in place of
        a drive, and friction give way: see JointSpring, JointFriction.
        """
        owner = f"joint '{name}'"
        if name in self.joints:
            raise ValueError(f"{owner} exists already; joints so far: {', '.join(self.joints)}")
        if kind not in JOINT_KINDS:
            raise ValueError(f"{owner}: kind is {kind!r}; legal values: {', '.join(JOINT_KINDS)}")
        moves = kind in ("revolute", "prismatic")
        if not moves and any(given is not None for given in (lower, upper, drive, spring, friction)):
            raise ValueError(f"{owner}: a {kind} joint has no coordinate for limits, a drive, a spring or friction")
        if drive is not None and spring is not None:
            raise ValueError(f"{owner} has both a drive and a spring; give one of them")
        if moves and axis is None:
            raise ValueError(f"{owner}: a {kind} joint needs axis=(x, y, z) in the world frame")
        low, high = (-np.inf if lower is None else float(lower)), (np.inf if upper is None else float(upper))
        if not low <= position <= high:
            raise ValueError(f"{owner}: start position {position:g} is outside its limits {low:g}..{high:g}")
        _require_positive(f"{owner}: stiffness", stiffness)
        place = np.asarray(anchor, dtype=np.float64)
        if place.shape != (3,) or not np.isfinite(place).all():
            raise ValueError(f"{owner}: anchor is {anchor!r}; it must be three finite numbers, world frame [m]")
        child_index = self._body_index(child, owner)
        fixed = parent is None or (parent in self.parts and self.parts[parent].kind == "static")
        parent_index = -1 if fixed else self._body_index(parent, owner)
        if parent_index == child_index:
            raise ValueError(f"{owner}: parent and child are both '{child}'")
        lever = CARRIER_LEVER
        if child in self.parts:
            mesh = self._mesh(child).vertices
            lever = 0.5 * float(np.linalg.norm(mesh.max(axis=0) - mesh.min(axis=0)))
        direction = unit_axis(owner, axis)
        self.joints[name] = JointPart(
            name, kind, parent_index, child_index, place, direction, low, high, drive, stiffness, lever, position,
            spring, friction,
        )  # fmt: skip
        if parent is not None and ignore_contact and child in self.parts and parent in self.parts:
            self.ignore_contact(parent, child)

    def add_adhesion(self, mesh: str, side, partners, material, stuck=True) -> None:
        """One side of `mesh` sticks to other meshes.

        side: "positive" (where the triangle normals point), "negative", "both", or by triangle, int (t,): 1, -1, 2, 0 =
        not sticky. partners: mesh names (its own too, for tape on tape), or "all". material: a FrontAdhesive, say; a
        pair of meshes named twice follows the later call. stuck: what lies within 1.3 dhat at the start is stuck; or
        which vertices start stuck and to what, at any distance: int (k, 4), vertex, its triangle on the one partner.
        Raises ValueError for a name, side or material that does not fit.
        """
        self._mesh(mesh)
        self.adhesion.append(adhesion_part(self.parts, self.adhesion, mesh, side, partners, material, stuck))

    def ignore_contact(self, mesh_a: str, mesh_b: str) -> None:
        """These two meshes never touch each other (one name twice: no self-contact)."""
        self._mesh(mesh_a), self._mesh(mesh_b)
        self.ignored_meshes.add((mesh_a, mesh_b))

    def ignore_layers(self, layer_a: int, layer_b: int) -> None:
        """Meshes whose ContactMaterial.layer is layer_a never touch those of layer_b."""
        for layer in (layer_a, layer_b):
            if not 0 <= layer < 32:
                raise ValueError(f"ignore_layers: layer is {layer!r}; it must lie in 0..31")
        self.ignored_layers.add((layer_a, layer_b))

    # The model --------------------------------------------------------------------------------------------------
    def finalize(self, num_worlds: int = 1, device: str = "cpu", check_start: bool = True) -> Model:
        """Number nodes and points, build every energy, replicate the world and run the start checks.

        check_start=False skips the search for surfaces that start touching. Raises MeshError, or ValueError for an
        empty model.
        """
        from engine.builder.assembly import build_model  # here: it imports the energies and their kernels

        if num_worlds < 1:
            raise ValueError(f"finalize: num_worlds is {num_worlds!r}; it must be at least 1")
        self.check(check_start)
        return build_model([self] * num_worlds, device)

    def check(self, start: bool = True, like: ModelBuilder | None = None) -> None:
        """The checks of `finalize`. start=False skips the search for surfaces that start touching; like: another one of
        the same topology that has passed. Raises like it."""
        moving = [p for p in self.parts.values() if p.kind == "body" or (p.pinned is not None and not p.pinned.all())]
        if not moving:
            raise ValueError(
                "finalize: nothing can move; add a body, or a shell or solid that is not pinned everywhere"
            )
        extents = {p.name: float(np.ptp(p.vertices, axis=0).max()) for p in moving}
        self._warn(checks.check_model_units(extents))
        if start:
            from engine.builder.start_check import check_start_state

            self._warn(check_start_state(self, like))

    def _warn(self, sentences: list[str]) -> None:
        self.model_warnings += [s for s in sentences if s not in self.model_warnings]

    # Names ------------------------------------------------------------------------------------------------------
    def _claim(self, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise ValueError(f"mesh name is {name!r}; it must be a non-empty string")
        if name in self.parts:
            raise ValueError(f"mesh '{name}' exists already; meshes so far: {', '.join(self.parts)}")

    def _mesh(self, name: str) -> MeshPart:
        if name not in self.parts:
            raise ValueError(f"no mesh named {name!r}; available: {', '.join(self.parts) or 'none'}")
        return self.parts[name]

    def _body_index(self, name: str, owner: str) -> int:
        if name not in self.bodies:
            raise ValueError(f"{owner}: no body named {name!r}; available: {', '.join(self.bodies) or 'none'}")
        return list(self.bodies).index(name)


def build_worlds(builders: list[ModelBuilder], device: str = "cpu", check_start: bool = True) -> Model:
    """One Model of a world a builder. Worlds may differ in everything but topology: places, materials, contact numbers,
    masses, limits of drives; names, adhesion and rest shapes for drawing are those of world 0.

    Raises what `ModelBuilder.finalize` raises, and ValueError naming the first world that does not fit, and why.
    """
    from engine.builder.assembly import build_model

    if not builders:
        raise ValueError("build_worlds: no builders; a batch has at least one world")
    first = builders[0]
    first.check(check_start)
    for builder in {id(b): b for b in builders}.values():
        if builder is not first:
            alike = [(p.name, len(p.vertices)) for p in builder.parts.values()]
            fits = alike == [(p.name, len(p.vertices)) for p in first.parts.values()]  # else build_model names it
            builder.check(check_start, first if fits else None)
    return build_model(list(builders), device)


def unit_axis(owner: str, axis) -> np.ndarray:
    """Unit axis of a joint, z when it has none."""
    return np.array([0.0, 0.0, 1.0]) if axis is None else intake.unit_vector(f"{owner}: axis", axis)


def _require_positive(owner: str, value: float) -> None:
    if not value > 0.0:
        raise ValueError(f"{owner} is {value!r}; it must be greater than 0")
