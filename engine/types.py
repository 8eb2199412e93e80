"""What is fixed, moving, asked, derived: one type each, one writer each.

Model is written by the builder, State by `Engine.step`, Control by the application, Signals and StepReport by the
engine after a step. Shapes: N nodes, P points, B bodies, J joints, W worlds. All worlds lie in the same arrays,
world-major; index arrays are global.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import warp as wp


@dataclass
class Embedding:
    """Points ride on nodes: x_p = offset_p + sum_k weight_pk * node[first_p + k], k < count_p.

    count 1: a free vertex (weight 1). count 4: a vertex of an affine body, nodes (origin, three columns), weights
    (1, X, Y, Z). count 0: a static point, its position is `offset`.
    """

    point_node: wp.array  # first node, -1 for a static point [-], int (P,)
    point_count: wp.array  # nodes it rides on: 0, 1 or 4 [-], int (P,)
    point_weights: wp.array  # [- or m], vec4d (P,)
    point_offset: wp.array  # position of a static point [m], vec3d (P,)


@dataclass
class CollisionGeometry:
    """Surfaces that may touch. S surfaces a world, replicated; indices of points are global."""

    vertices: wp.array  # points that are tested against triangles, int (nv,)
    edges: wp.array  # point ids, vec2i (ne,)
    triangles: wp.array  # point ids, vec3i (nt,)
    vertex_area: wp.array  # a third of the adjacent triangle areas [m2], float64 (P,) by point id
    edge_area: wp.array  # a third of the adjacent triangle areas [m2], float64 (ne,)
    edge_rest_length: wp.array  # for the parallel-edge mollifier [m], float64 (ne,)
    point_surface: wp.array  # surface of a point, -1 when it does not collide, int (P,)
    point_world: wp.array  # int (P,)
    # by surface id (global: world * surfaces_per_world + local)
    surface_dhat: wp.array  # [m], float64
    surface_half_thickness: wp.array  # [m], float64
    surface_kappa: wp.array  # [Pa], float64
    surface_friction_mu: wp.array  # [-], float64
    surface_self_collision: wp.array  # 0/1, int
    surface_local: wp.array  # id within its world, int
    ignored: wp.array2d  # 1 where two local surfaces never touch (layers, joints), int8 (S, S)
    surfaces_per_world: int
    # surfaces that have been cut; None where there are none
    point_rest: wp.array | None = None  # place in the mesh's rest shape [m], vec3d (P,)
    surface_lip: wp.array | None = None  # dhat between lips, whose thickness counts nothing; 0 = no cut [m], float64


@dataclass
class MeshInfo:
    """Where one named mesh lies in the arrays of world 0; add world * stride for the others."""

    name: str
    kind: str  # "shell", "solid", "body", "static"
    points: slice  # point ids of world 0
    triangles: np.ndarray  # (t, 3) local vertex ids, for drawing and collision
    tets: np.ndarray | None = None  # (m, 4) local vertex ids of a solid
    body: int = -1  # local body index for kind "body"
    rest: np.ndarray | None = None  # (n, 3) rest vertices in the mesh's own frame [m]
    contact: object = None
    material: object = None
    visual: object = None  # passed through from the builder, e.g. another mesh to draw
    cut: object = None  # engine.builder.parts.CutShell once it has been cut


@dataclass
class BodyInfo:
    name: str
    node: int  # first of its four nodes in world 0
    points: int  # first of its four frame points (points that ride on one node each) in world 0
    driven: bool  # follows Control.body_transform
    force_limit: float | None  # [N] of the drive, None = none
    mass: float | np.ndarray  # [kg]; (W,) where worlds differ
    com_from_mesh: np.ndarray  # (4, 4): mesh frame -> body frame (origin at the centre of mass)


def mesh_pose(body: BodyInfo, frame: np.ndarray) -> np.ndarray:
    """World from the mesh frame of a body, (..., 4, 4). frame (..., 4, 3): origin [m] and the three columns of its
    matrix, from its nodes or its frame points."""
    pose = np.zeros((*frame.shape[:-2], 4, 4))
    pose[..., 3, 3] = 1.0
    pose[..., :3, 3] = frame[..., 0, :]
    pose[..., :3, :3] = np.swapaxes(frame[..., 1:, :], -1, -2)
    return pose @ np.asarray(body.com_from_mesh)


@dataclass
class JointInfo:
    name: str
    kind: str  # "fixed", "revolute", "prismatic", "spherical"
    parent: int  # local body index, -1 = world
    child: int
    drive: object = None  # JointDrive
    lower: float | None = None  # [m or rad]
    upper: float | None = None
    coordinate: object = None  # energy that holds its coordinate, drive and limits (revolute, prismatic)
    element: int = -1  # its element there in world 0; add world * (num_elements // num_worlds)


@dataclass
class Model:
    """Topology, rest shape, materials, masses. Fixed during a step."""

    device: str
    num_worlds: int
    nodes_per_world: int
    points_per_world: int
    bodies_per_world: int
    gravity: tuple[float, float, float]
    # nodes
    node_world: wp.array  # int (N,)
    node_body: wp.array  # body of a node, -1 for a free vertex, int (N,)
    node_mass: wp.array  # lumped mass of a free node [kg]; 0 for nodes of a body, float64 (N,)
    node_gravity: wp.array  # acceleration [m/s2], vec3d (N,): gravity on free nodes and body origins, 0 on columns
    node_start: wp.array  # initial positions [m], vec3d (N,)
    node_start_velocity: wp.array  # [m/s], vec3d (N,)
    # bodies
    body_node: wp.array  # first node, int (W*B,)
    body_mass: wp.array  # 4x4 mass matrix of (origin, columns) [kg, kg m, kg m2], mat44d (W*B,)
    # points, surfaces, energies
    embedding: Embedding
    collision: CollisionGeometry | None
    energies: list  # Energy instances, see engine/energies/base.py
    # names
    meshes: dict[str, MeshInfo]
    bodies: dict[str, BodyInfo]
    joints: dict[str, JointInfo]
    interfaces: tuple = ()  # makers of stencil terms with a history: model -> engine.contact.term.StencilTerm
    rolls: dict = field(
        default_factory=dict
    )  # name -> engine.tape.cluster.ClusterSpec; wound tape that rides as a cluster
    topology_version: int = 0
    point_world: wp.array | None = None  # int (P,); None = world-major with points_per_world
    point_measured: wp.array | None = None  # 1 for mesh vertices, 0 for handles of bodies and joints; None = by meshes
    node_unused: wp.array | None = None  # 1 while no point rides on a node (its vertex is grasped), int (N,); None = 0
    warnings: tuple[str, ...] = ()  # what the start checks found suspicious
    source: object = None  # engine.builder.recut.Source: what it was built from, for edits of a mesh; None: none
    template: object = None  # engine.builder.worlds.World: world 0, whose topology all worlds share

    @property
    def num_nodes(self) -> int:
        return len(self.node_world)

    @property
    def num_points(self) -> int:
        return len(self.embedding.point_node)


@dataclass
class State:
    """All that a restart needs. Everything else is a pure function of these and the Model."""

    x: wp.array  # node positions [m], vec3d (N,)
    v: wp.array  # node velocities [m/s], vec3d (N,)
    x_prev: wp.array  # node positions one step earlier, for BDF2 [m], vec3d (N,)
    v_prev: wp.array  # [m/s], vec3d (N,)
    # grasped points are kept beside, in engine.edits.Riding
    step_index: np.ndarray  # steps since reset, int64 (W,)
    time: np.ndarray  # simulated time [s], float64 (W,)


@dataclass
class Control:
    """What is asked for this step. Names index the rows: see Model.bodies and Model.joints (driven ones, in order)."""

    body_transform: np.ndarray  # target pose of each driven body, world frame, float64 (W, D, 4, 4)
    joint_target: np.ndarray  # target of each joint that has a drive [m or rad], float64 (W, J)


@dataclass
class Signals:
    """Read-outs after a step, world-major numpy arrays."""

    contact_force: np.ndarray  # normal contact force on every point [N], (W, P, 3)
    friction_force: np.ndarray  # [N], (W, P, 3)
    drive_gap: np.ndarray  # target minus reached position of each driven body's origin [m], (W, D, 3)
    drive_force: np.ndarray  # force with which the drive pulls its body [N], (W, D, 3)
    joint_position: np.ndarray  # [m or rad], (W, J)
    joint_force: np.ndarray  # drive force along the joint [N or N m], (W, J)
    contact_count: np.ndarray  # active pairs, int (W,)
    min_distance: np.ndarray  # smallest gap beyond both half-thicknesses among active pairs [m], (W,), inf if none


@dataclass
class StepReport:
    """What the step cost and how far to trust it."""

    converged: bool = True
    newton_iterations: int = 0
    linear_iterations: int = 0  # PCG iterations over all Newton iterations
    linear_solver: str = ""  # the one that was used
    line_search_halvings: int = 0
    newton_update: float = 0.0  # last raw update over dt [m/s]
    newton_residual: float = 0.0  # gradient in the inverse-mass norm times dt [m/s]
    step_bound: float = 1.0  # smallest CCD / inversion bound met in the step [-]
    contacts: int = 0
    candidates: int = 0
    candidate_rebuilds: int = 0
    min_distance: float = float("inf")  # [m]
    drive_gap: float = 0.0  # largest target-minus-reached of the drives [m]
    overflow: str = ""  # what grew, with the option that names it
    stalled: bool = False  # line search found no descent
    messages: tuple[str, ...] = ()
    stage_seconds: dict[str, float] = field(default_factory=dict)
    world_converged: np.ndarray | None = None  # bool (W,)
