"""W worlds are W copies, world-major, with global ids that never point into a neighbour."""

import numpy as np
import pytest

from tests.engine.builder.builder_scenes import gripper_scene, host_points, mixed_scene

WORLDS = 3


@pytest.fixture(scope="module", params=[mixed_scene, gripper_scene])
def models(request):
    return request.param().finalize(), request.param().finalize(num_worlds=WORLDS)


def _same_in_every_world(solo, batch, stride):
    """batch (W * E, ..) equals solo (E, ..) with `stride` added a world; -1 stays."""
    parts = batch.reshape(WORLDS, *solo.shape)
    for w in range(WORLDS):
        assert np.array_equal(parts[w], np.where(solo >= 0, solo + w * stride, solo) if stride else solo)


def test_counts(models):
    solo, batch = models
    assert batch.nodes_per_world == solo.nodes_per_world and batch.num_nodes == WORLDS * solo.num_nodes
    assert batch.num_points == WORLDS * solo.num_points == len(batch.embedding.point_node)
    assert batch.node_world.numpy().tolist() == np.repeat(np.arange(WORLDS), solo.num_nodes).tolist()
    assert batch.collision.point_world.numpy().tolist() == np.repeat(np.arange(WORLDS), solo.num_points).tolist()
    assert batch.meshes.keys() == solo.meshes.keys()
    assert all(batch.meshes[n].points == solo.meshes[n].points for n in solo.meshes)


def test_ids_are_global(models):
    solo, batch = models
    nodes, points, surfaces = solo.nodes_per_world, solo.points_per_world, solo.collision.surfaces_per_world
    for owner, name, stride in (
        ("embedding", "point_node", nodes),
        ("collision", "vertices", points),
        ("collision", "edges", points),
        ("collision", "triangles", points),
        ("collision", "point_surface", surfaces),
        ("collision", "surface_local", 0),
    ):
        one, many = (getattr(getattr(m, owner), name).numpy() for m in models)
        _same_in_every_world(one, many, stride)
    _same_in_every_world(solo.node_body.numpy(), batch.node_body.numpy(), solo.bodies_per_world)
    _same_in_every_world(solo.body_node.numpy(), batch.body_node.numpy(), nodes)


def test_numbers_are_copied(models):
    solo, batch = models
    for name in ("node_mass", "node_gravity", "node_start", "node_start_velocity", "body_mass"):
        _same_in_every_world(getattr(solo, name).numpy(), getattr(batch, name).numpy(), 0)
    for name in ("vertex_area", "edge_area", "edge_rest_length", "surface_dhat", "surface_half_thickness",
                 "surface_kappa", "surface_friction_mu", "surface_self_collision"):  # fmt: skip
        _same_in_every_world(getattr(solo.collision, name).numpy(), getattr(batch.collision, name).numpy(), 0)
    assert np.array_equal(solo.collision.ignored.numpy(), batch.collision.ignored.numpy())
    assert np.array_equal(np.tile(host_points(solo), (WORLDS, 1)), host_points(batch))


def test_energies_stay_in_their_world(models):
    solo, batch = models
    assert [type(e) for e in solo.energies] == [type(e) for e in batch.energies]
    for one, many in zip(solo.energies, batch.energies, strict=True):
        _same_in_every_world(one.stencils_host, many.stencils_host, solo.points_per_world)
        world = many.element_world.numpy()
        assert world.tolist() == np.repeat(np.arange(WORLDS), one.num_elements).tolist()
        assert np.array_equal(
            many.stencils_host // solo.points_per_world, np.broadcast_to(world[:, None], many.stencils_host.shape)
        )
        for name in ("rest_area", "volume", "weight", "stiffness", "rest_angle", "dm_inv", "coefficient", "offset"):
            if hasattr(one, name):
                _same_in_every_world(getattr(one, name).numpy(), getattr(many, name).numpy(), 0)
