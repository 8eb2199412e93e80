"""Depth, normals and indentation against surfaces that are known in closed form."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from engine.mesh.topology import vertex_triangles
from engine.tactile.array import TactileArray
from engine.tactile.coat import normals_kernel
from scenes.motion import rigid_transform
from scenes.sensors import BoxGel, Markers, OrthographicCamera, PinholeCamera, ShellGel
from tests.engine.tactile.pad_scenes import Pad, pixel_rays

CAMERAS = {
    "orthographic": OrthographicCamera(pixel_pitch=1e-4),
    "pinhole": PinholeCamera(resolution=(80, 60), position=(0.0, 0.0, -0.009)),
    "pinhole_aside": PinholeCamera(resolution=(80, 60), position=(0.001, 0.0, -0.009), rotation=(0.1, -0.15, 0.4)),
    "from_outside": OrthographicCamera(pixel_pitch=1e-4, position=(0.0, 0.0, 0.006), rotation=(np.pi, 0.0, 0.0)),
}


def angle(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """[deg] between unit vectors."""
    return np.rad2deg(np.arctan2(np.linalg.norm(np.cross(a, b), axis=-1), (a * b).sum(axis=-1)))


@pytest.mark.parametrize("name", CAMERAS)
def test_an_undeformed_pad_gives_the_reference_to_the_bit_wherever_it_is(name, device):
    pad = Pad(worlds=2, camera=CAMERAS[name], markers=Markers(rows=3, columns=4, pitch=1e-3), device=device)
    tactile = TactileArray(pad.engine, [pad.spec])
    for k, world in enumerate((0, 1, 1)):
        pad.carry(rigid_transform((0.3 + k, -0.2, 0.11), (0.3, 1.1 * k, -0.7)), world)
        tactile.update()
        for signal in ("depth", "normal", "marker", "marker_pixel"):
            assert np.array_equal(tactile.numpy(signal, "pad", world), tactile.reference(signal, "pad")), signal
        for signal in ("indentation", "flow", "pixel_flow", "pressure", "shear", "contact", "wrench"):
            assert not tactile.numpy(signal, "pad", world).any(), signal
    assert tactile.reference("depth", "pad").max() > 0.0


@pytest.mark.parametrize("name", CAMERAS)
def test_flat_and_tilted_presses(name, device):
    pad = Pad(camera=CAMERAS[name], device=device)
    tactile = TactileArray(pad.engine, [pad.spec], ["shape", "indentation"])
    start, along = pixel_rays(pad.spec.camera)
    for depth, slope in ((0.3e-3, np.zeros(2)), (0.4e-3, np.array([0.06, -0.04]))):
        pad.deform(lambda x, d=depth, s=slope: x + np.column_stack([0 * x[:, :2], x[:, :2] @ s - d]))
        tactile.update()
        normal = np.array([*-slope, 1.0]) / np.sqrt(1.0 + slope @ slope)
        reach = (normal[2] * -depth - start @ normal) / (along @ normal)  # where the ray meets the plane
        got = tactile.numpy("depth", "pad")
        seen = got > 0.0
        assert seen.mean() > 0.5
        assert np.abs(got - reach)[seen].max() < 1e-8
        assert angle(tactile.numpy("normal", "pad")[seen], normal).max() < 1e-3
        if name == "orthographic":
            pushed = -((start + along * reach[..., None])[..., 2])
            assert np.abs(tactile.numpy("indentation", "pad") - pushed)[seen].max() < 1e-8
        if name == "from_outside" and not slope.any():
            assert tactile.numpy("indentation", "pad")[seen] == pytest.approx(depth, abs=1e-8), "inwards is positive"


@pytest.mark.parametrize("name", ["orthographic", "pinhole"])
def test_a_sphere_pressed_in(name):
    """Ball of 4 mm radius, 0.4 mm deep. The rim of the contact is left out: there the surface has a kink, and the
    normals of vertices beside it mix both sides, up to two diagonals of a cell away."""
    radius, depth = 4e-3, 0.4e-3
    contact = np.sqrt(2 * radius * depth - depth**2)
    cell = 0.2e-3
    pad = Pad(gel=BoxGel(size=(0.008, 0.006, 0.002), cells=(40, 30, 1)), camera=CAMERAS[name])
    tactile = TactileArray(pad.engine, [pad.spec], ["shape"])
    centre = np.array([0.0, 0.0, radius - depth])

    def press(x):
        r2 = (x[:, :2] ** 2).sum(axis=1)
        inside = r2 < contact**2
        out = x.copy()
        out[inside, 2] = centre[2] - np.sqrt(radius**2 - r2[inside])
        return out

    pad.deform(press)
    tactile.update()
    start, along = pixel_rays(pad.spec.camera)
    a, b, c = (along**2).sum(-1), ((start - centre) * along).sum(-1), ((start - centre) ** 2).sum(-1) - radius**2
    root = b**2 - a * c
    reach = np.where(root > 0.0, (-b - np.sqrt(np.maximum(root, 0.0))) / a, 1.0)  # the side towards the camera
    hit = start + along * reach[..., None]
    rho = np.linalg.norm(hit[..., :2], axis=-1)
    inside = rho < contact - cell
    assert inside.sum() > 100
    error = np.abs(tactile.numpy("depth", "pad") - reach)[inside]
    assert error.max() < 3.5e-6, "the sagitta of a cell's diagonal, c^2/4R, is 2.5 um; a pixel is 100 um"
    wanted, rim = (centre - hit) / radius, 2.0 * np.sqrt(2.0) * cell
    inner = rho < contact - rim
    assert inner.sum() > 100
    assert angle(tactile.numpy("normal", "pad")[inner], wanted[inner]).max() < 0.25
    outside = (rho > contact + rim) & (tactile.numpy("depth", "pad") > 0.0)
    assert angle(tactile.numpy("normal", "pad")[outside], np.array([0.0, 0.0, 1.0])).max() < 1e-3


def test_the_curved_pad_is_its_own_sphere():
    """A layer of equal radii is not a sphere, but z = z_x + z_y: depth and normals of that surface."""
    radius, camera = 15e-3, PinholeCamera(resolution=(64, 48), position=(0.0, 0.0, -0.012))
    gel = ShellGel(size=(0.01, 0.008), thickness=0.002, radius_x=radius, radius_y=radius, cells=(40, 32, 1))
    pad = Pad(gel=gel, camera=camera)
    tactile = TactileArray(pad.engine, [pad.spec], ["shape", "clouds"])
    tactile.update()
    seen = tactile.numpy("depth", "pad") > 0.0
    x = tactile.numpy("points", "pad")[seen]
    height = np.sqrt(radius**2 - x[:, 0] ** 2) + np.sqrt(radius**2 - x[:, 1] ** 2) - 2.0 * radius
    assert seen.mean() > 0.6 and np.abs(x[:, 2] - height).max() < 2e-6
    slope = x[:, :2] / np.sqrt(radius**2 - x[:, :2] ** 2)
    wanted = np.column_stack([slope, np.ones(len(x))])
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    inner = (np.abs(x[:, 0]) < 4.7e-3) & (np.abs(x[:, 1]) < 3.7e-3)  # at the border a vertex has faces on one side only
    assert angle(tactile.numpy("normal", "pad")[seen], wanted)[inner].max() < 0.2


def test_nothing_is_left_of_the_frame_before_and_the_nearest_is_seen():
    pad = Pad(camera=OrthographicCamera(pixel_pitch=1e-4, resolution=(120, 80)))
    tactile = TactileArray(pad.engine, [pad.spec], ["shape", "indentation", "clouds"])
    tactile.update()
    reference = tactile.numpy("depth", "pad")
    assert (reference[:, :15] == 0.0).all() and np.isnan(tactile.numpy("points", "pad")[:, :15]).all()
    pad.deform(lambda x: x - [0.002, 0.0, 0.0])
    tactile.update()
    moved = tactile.numpy("depth", "pad")
    assert (moved[10:70, 1:79] > 0.0).all()
    assert (moved[:, 85:] == 0.0).all(), "pixels that see nothing any more are cleared"
    assert (tactile.numpy("normal", "pad")[:, 85:] == 0.0).all()
    assert (tactile.numpy("indentation", "pad")[:, 85:] == 0.0).all()

    def fold(x):  # the half at x > 0 is turned over the other one, nearer to the camera
        out = x.copy()
        right = x[:, 0] > 1e-9
        out[right, 0] *= -1.0
        out[right, 2] -= 0.5e-3
        return out

    pad.deform(fold)
    tactile.update()
    folded = tactile.numpy("depth", "pad")
    assert folded[20:60, 25:55] == pytest.approx(reference.max() - 0.5e-3, abs=1e-8)
    pad.deform(lambda x: x)
    tactile.update()
    assert np.array_equal(tactile.numpy("depth", "pad"), reference)


def test_images_do_not_depend_on_the_order_of_triangles_and_worlds_do_not_mix():
    pad = Pad(worlds=3)
    rng = np.random.default_rng(0)
    amplitude = 1e-4 * rng.uniform(0.2, 1.0, 3)

    def wave(world):
        return lambda x: x + amplitude[world] * np.column_stack([0 * x[:, :2], np.sin(900 * x[:, 0]) - 1.0])

    for world in (0, 2):
        pad.deform(wave(world), world)
    shuffled = type(pad.spec)(**(vars(pad.spec) | {"coat": pad.spec.coat[rng.permutation(len(pad.spec.coat))]}))
    first, second = (TactileArray(pad.engine, [spec], ["shape"]) for spec in (pad.spec, shuffled))
    first.update(), second.update()
    for world in range(3):
        one, other = first.numpy("depth", "pad", world), second.numpy("depth", "pad", world)
        assert np.abs(one - other).max() < 1e-9
    assert np.array_equal(first.numpy("depth", "pad", 1), first.reference("depth", "pad"))
    low = first.reference("depth", "pad").max() - np.array([first.numpy("depth", "pad", w).min() for w in (0, 2)])
    assert low == pytest.approx(2.0 * amplitude[[0, 2]], rel=0.02)
    repeated = first.numpy("depth", "pad", 2)
    first.update()
    assert np.array_equal(first.numpy("depth", "pad", 2), repeated)


def test_views_show_the_signals_without_a_copy():
    pad = Pad(worlds=2, markers=Markers(rows=2, columns=3, pitch=1e-3))
    pad.deform(lambda x: x - [0.0, 0.0, 2e-4], 1)
    tactile = TactileArray(pad.engine, [pad.spec])
    views = {name: tactile.array(name, "pad") for name in ("depth", "normal", "contact", "marker", "wrench")}
    tactile.update()
    for name, view in views.items():
        for world in range(2):
            assert np.array_equal(view.numpy()[world], tactile.numpy(name, "pad", world)), name
    assert views["depth"].shape == (2, 60, 80) and views["marker"].shape == (2, 6) and views["wrench"].shape == (2, 6)


def test_a_vertex_normal_does_not_depend_on_how_faces_are_cut(device):
    """The corner of a cube: one of its three faces is cut through the corner, the others are not."""
    corner = np.array([[0, 0, 0], [-1, 0, 0], [0, -1, 0], [0, 0, -1], [-1, -1, 0.0]])
    triangles = np.array([[0, 1, 4], [0, 4, 2], [0, 2, 3], [0, 3, 1]])
    around = vertex_triangles(triangles, 5)
    normal = wp.zeros((1, 5), dtype=wp.vec3f, device=device)
    arrays = [wp.array(corner[None], dtype=wp.vec3d, device=device), wp.array(triangles, dtype=wp.vec3i, device=device)]
    arrays += [wp.array(a.astype(np.int32), dtype=int, device=device) for a in (around.indptr, around.indices)]
    wp.launch(normals_kernel, (1, 5), arrays, [normal], device=device)
    assert normal.numpy()[0, 0] == pytest.approx(np.ones(3) / np.sqrt(3.0), abs=1e-6)
