"""What turns together does not slide: friction under rigid turns, its balance, its blocks in the matrix."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from engine import ContactMaterial, Engine, ModelBuilder, Options
from engine.contact.friction import Friction
from engine.energies.base import StepInputs
from engine.materials import FrontAdhesive, ShellMaterial
from engine.mesh import shapes
from tests.engine.contact.contact_pairs import Launcher, differences, make_pairs, stencil_hessian
from tests.engine.energies.harness import relative_error
from tests.engine.models import angular_momentum, linear_momentum, rotation_about, spin
from tests.engine.stepper.test_system import crowded_engine, full_matrix, linearised

EPSV, STEP = 1.0, 1.0  # limit of slip, in the pairs' own lengths of 1e-3 to 1 m: all turns below stick


class LaggedPairs:
    """Friction of single pairs, lagged at pairs.x."""

    def __init__(self, scales=(1e-3, 1.0), seed: int = 4):
        self.pairs = pairs = make_pairs(scales, (0.1, 0.6))
        rng = np.random.default_rng(seed)
        pairs.x += 0.01 * rng.normal(size=pairs.x.shape) * pairs.dhat[:, None, None] * pairs.share[:, None, None]
        count, launcher = len(pairs), Launcher(pairs)
        self.friction = f = Friction(count, EPSV, "cpu")
        f.launch_lag(launcher.candidates, launcher.x, launcher.all, launcher.candidates.count)
        assert f.blocks.count.numpy()[0] == count
        self.weights, self.normal, self.turn = f.blocks.weights.numpy(), f.normal.numpy(), f.turn.numpy()
        self.distance = np.linalg.norm(np.einsum("na,nai->ni", self.weights, pairs.x), axis=1)
        self.x = wp.array(pairs.x.reshape(-1, 3), dtype=wp.vec3d, device="cpu")
        start = wp.array(pairs.x.reshape(-1, 3), dtype=wp.vec3d, device="cpu")
        self.inputs = StepInputs(self.x, start, wp.array([STEP], dtype=wp.float64, device="cpu"))

    def gradient(self, x: np.ndarray) -> np.ndarray:
        self.x.assign(np.ascontiguousarray(x.reshape(-1, 3)))
        self.friction.launch_derivatives(self.inputs)
        return self.friction.blocks.gradient.numpy().copy()

    def slip(self, x: np.ndarray) -> np.ndarray:
        """From the forces: gradient on the first side over the block's weight, (n, 3)."""
        gradient = self.gradient(x)
        weight = 0.5 * np.trace(self.friction.blocks.block.numpy(), axis1=1, axis2=2)
        first = np.arange(4) < 1 + self.pairs.kind[:, None]
        pull = np.einsum("na,nai->ni", first, gradient)
        pull -= self.normal * np.einsum("ni,ni->n", pull, self.normal)[:, None]
        return pull / weight[:, None]

    def seen_along_normal(self) -> tuple[np.ndarray, np.ndarray]:
        """Whether triangle or edges span a plane that faces along the normal, (n,); sum of both edges across it."""
        x, kind = self.pairs.x, self.pairs.kind
        a = np.where(kind[:, None] == 0, x[:, 2] - x[:, 1], x[:, 1] - x[:, 0])
        b = np.where(kind[:, None] == 0, x[:, 3] - x[:, 1], x[:, 3] - x[:, 2])
        size = np.linalg.norm(np.cross(a, b), axis=1)
        sine = size / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
        cosine = np.abs(np.einsum("ni,ni->n", np.cross(a, b), self.normal)) / np.maximum(size, 1e-300)
        b = b * np.sign(np.einsum("ni,ni->n", a, b))[:, None]
        total = a + b - self.normal * np.einsum("ni,ni->n", a + b, self.normal)[:, None]
        return (sine > np.sqrt(1e-3)) & (cosine >= 0.5), total


@pytest.fixture(scope="module")
def lagged():
    return LaggedPairs()


def turned_pairs(lagged: LaggedPairs, axis: np.ndarray, angle: float) -> np.ndarray:
    """All pairs turned about places of their own. axis (n, 3)."""
    x = lagged.pairs.x
    centre = x.mean(axis=1, keepdims=True) + np.ptp(x, axis=1, keepdims=True)
    turns = np.array([rotation_about(a, angle) for a in axis])
    return centre + np.einsum("nij,naj->nai", turns, x - centre)


def test_no_slip_and_no_force_under_a_rigid_turn(lagged):
    plane, _ = lagged.seen_along_normal()
    kind = lagged.pairs.kind
    assert (plane & (kind == 0)).sum() >= 12 and (plane & (kind == 1)).sum() >= 12 and (~plane).sum() >= 12
    rng, angle = np.random.default_rng(1), 1e-5
    for _ in range(3):
        axis = rng.normal(size=(len(plane), 3))
        axis /= np.linalg.norm(axis, axis=1, keepdims=True)
        slip = np.linalg.norm(lagged.slip(turned_pairs(lagged, axis, angle)), axis=1)
        apart = angle * lagged.distance * np.linalg.norm(np.cross(axis, lagged.normal), axis=1)  # of the two points
        assert (slip[plane] < 1e-4 * apart[plane]).all()  # of second order in the angle


def test_edges_one_above_the_other_follow_the_turn_along_themselves_alone(lagged):
    plane, along = lagged.seen_along_normal()
    edges, angle = ~plane & (lagged.pairs.kind == 1), 1e-5
    along = along / np.linalg.norm(along, axis=1, keepdims=True)
    tilt = np.linalg.norm(lagged.slip(turned_pairs(lagged, np.cross(lagged.normal, along), angle)), axis=1)
    assert (tilt[edges] < 1e-4 * angle * lagged.distance[edges]).all()
    about = np.linalg.norm(lagged.slip(turned_pairs(lagged, along, angle)), axis=1)
    assert about[edges] == pytest.approx(angle * lagged.distance[edges], rel=1e-4)


def test_a_side_met_edge_on_follows_its_edge_and_a_corner_nothing():
    pairs = make_pairs((1.0,), (0.5,), (0.0,))
    pairs.x, pairs.kind = pairs.x[:2], np.zeros(2, int)
    for name in ("case", "share", "slant", "dhat", "min_separation", "stiffness", "friction_mu", "varies"):
        setattr(pairs, name, getattr(pairs, name)[:2])
    pairs.mollifier_eps = np.zeros(2)
    gap = 0.5 * pairs.dhat[0]
    triangle = np.array([[0.0, 0, 0], [2.0, 0, 0], [0.7, 0.1, -1.0]])
    pairs.x = np.array([[[0.8, 0, gap], *triangle], [[-0.6 * gap, 0, 0.8 * gap], *triangle[[0, 2, 1]]]])
    launcher, friction = Launcher(pairs), Friction(2, EPSV, "cpu")
    friction.launch_lag(launcher.candidates, launcher.x, launcher.all, launcher.candidates.count)
    turn = friction.turn.numpy()
    assert np.allclose(turn[0], gap * np.array([[0, 0, 0], [-0.5, 0, 0], [0.5, 0, 0], [0, 0, 0]]), atol=1e-14)
    assert (turn[1] == 0.0).all()


def test_forces_have_no_sum_and_no_moment(lagged):
    """At the lagged places, to rounding; of edges one above the other the moment along them alone is left."""
    plane, along = lagged.seen_along_normal()
    rng = np.random.default_rng(2)
    x = lagged.pairs.x
    gradient = lagged.gradient(x + 1e-3 * lagged.distance[:, None, None] * rng.normal(size=x.shape))
    size = np.linalg.norm(gradient, axis=2).max(axis=1)
    assert (size > 0.0).all()
    assert (np.linalg.norm(gradient.sum(axis=1), axis=1) < 1e-11 * size).all()
    moment = np.cross(x - x[:, :1], gradient).sum(axis=1)
    reach = np.linalg.norm(x - x[:, :1], axis=2).max(axis=1)
    assert (np.linalg.norm(moment, axis=1) < 1e-10 * size * reach)[plane].all()
    edges = ~plane & (lagged.pairs.kind == 1)
    along = along / np.linalg.norm(along, axis=1, keepdims=True)
    rest = moment - along * np.einsum("ni,ni->n", moment, along)[:, None]
    assert (np.linalg.norm(rest, axis=1) < 1e-10 * size * reach)[edges].all()


def test_hessian_at_rest_is_exact(lagged):
    """Where nothing has slipped the secant is the second derivative, in all twelve coordinates."""
    b = lagged.friction.blocks
    lagged.inputs.x_start.zero_()  # displacements are what the law sees: about zero no digits are lost
    at = np.zeros_like(lagged.pairs.x)
    lagged.gradient(at)
    used = stencil_hessian(lagged.weights, b.block.numpy(), lagged.turn, lagged.normal)
    exact = differences(lagged.gradient, at, np.full(len(at), 1e-8)).reshape(used.shape)
    lagged.inputs.x_start.assign(lagged.pairs.x.reshape(-1, 3))
    assert (np.linalg.norm(used, axis=(1, 2)) > 0.0).all()
    assert relative_error(used, exact).max() < 1e-6


def riding(model) -> np.ndarray:
    """From node displacements to those of points, (3 P, 3 N)."""
    e = model.embedding
    node, count, weights = e.point_node.numpy(), e.point_count.numpy(), e.point_weights.numpy()
    rides = np.zeros((model.num_points, model.num_nodes))
    for k in range(4):
        has = np.flatnonzero(count > k)
        rides[has, node[has] + k] += weights[has, k]
    return np.kron(rides, np.eye(3))


def test_matrix_holds_the_blocks_with_their_turn():
    """Folded and matrix-free, nodes and bodies: against blocks summed by points; the preconditioner's diagonal too."""
    engine = crowded_engine()
    s = linearised(engine, 2e-6)
    f, n = s.friction.blocks, int(s.friction.blocks.count.numpy()[0])
    assert n > 20 and f.free_count.numpy()[0] > 0
    assert (np.abs(f.turns.turn.numpy()[:n]).max(axis=(1, 2)) > 0.0).sum() > 20
    found, extra, body_extra = full_matrix(s), s.jacobi.extra.numpy(), s.jacobi.body_extra.numpy()
    sparse = s.assembly.to_scipy().toarray()
    s.assembly.launch(s.inputs, s.state.x, s.x_tilde)
    expected, rides, model = s.assembly.to_scipy().toarray(), riding(engine.model), engine.model
    for blocks in (s.contacts, f):
        m = int(blocks.count.numpy()[0])
        turns = (blocks.turns.turn.numpy()[:m], blocks.turns.normal.numpy()[:m]) if blocks.turning else ()
        local = stencil_hessian(blocks.weights.numpy()[:m], blocks.block.numpy()[:m], *turns)
        for points, h in zip(blocks.points.numpy()[:m], local, strict=True):
            rows = rides[(3 * points[:, None] + np.arange(3)).ravel()]
            expected += rows.T @ h @ rows
    free = np.repeat(s.node_free.numpy() == 1, 3)
    difference = (found - expected)[np.ix_(free, free)]
    assert np.abs(difference).max() < 1e-10 * np.abs(expected).max()
    body = model.node_body.numpy()
    for i in np.flatnonzero(s.node_free.numpy()):
        block = np.ix_(range(3 * i, 3 * i + 3), range(3 * i, 3 * i + 3))
        k = i - model.body_node.numpy()[body[i]] if body[i] >= 0 else 0
        more = extra[i] if body[i] < 0 else body_extra[body[i], 5 * k]
        assert np.allclose(sparse[block] + more, found[block], rtol=1e-9, atol=1e-9 * np.abs(found[block]).max())


def sandwich(friction_mu: float) -> Engine:
    """Two sheets of different meshes stuck to each other, turned against each other, pressing."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    contact = ContactMaterial(dhat=2e-4, half_thickness=1e-4, friction_mu=friction_mu)
    material = ShellMaterial(young=1e7, poisson=0.3, thickness=2e-4, density=1300.0)
    low, triangles = shapes.grid_mesh(0.02, 0.02, 5, 5)
    builder.add_shell("low", low - low.mean(0), triangles, material, contact)
    up, triangles = shapes.grid_mesh(0.016, 0.018, 4, 5)
    up = (up - up.mean(0)) @ rotation_about((0, 0, 1), 0.3).T + (0, 0, 2.4e-4)
    builder.add_shell("up", up, triangles, material, contact)
    builder.add_adhesion("up", "negative", ["low"], FrontAdhesive(work=20.0))
    return Engine(builder.finalize(), Options(dt=0.005, newton_tolerance=1e-6, linear_tolerance=1e-4))


def test_layers_that_spin_freely_keep_their_momenta():
    """Backward Euler alone loses 0.3 % of the spin in ten steps; with a couple of friction all of it went."""
    lost = []
    for friction_mu in (0.0, 0.5):
        engine = sandwich(friction_mu)
        for _ in range(5):
            engine.step()
        spin(engine, (3.0, 2.0, 1.0), engine.state.x.numpy().mean(0), (0.1, 0.0, 0.0))
        turning, moving = angular_momentum(engine), linear_momentum(engine)
        for _ in range(10):
            engine.step()
        f = engine.newton.system.friction
        assert f.force.numpy()[: f.blocks.count.numpy()[0]].sum() >= 0.2 * friction_mu  # [N]
        assert np.abs(linear_momentum(engine) - moving).max() < 1e-6 * np.abs(moving).max()
        lost.append(np.linalg.norm(angular_momentum(engine) - turning) / np.linalg.norm(turning))
    assert 1e-3 < lost[0] < 5e-3
    assert lost[1] < 0.02
