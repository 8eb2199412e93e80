"""Case `cameras`: what a picture of an episode's camera costs, 640 x 480 colour and depth, beside two other ways."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable

import numpy as np
import warp as wp

from bench.measure import one_core
from bench.registry import Emit

DESCRIPTION = "processor time of a camera's picture: rasteriser, rays, OpenGL through EGL; bytes stored"
SCENE = "box_packaging"
RATE, SIZE = 30.0, (640, 480)
AGAIN = 5  # times; the least counts


def run(emit: Emit, compute: str) -> None:
    from app.cameras.render import camera_pose
    from app.cameras.surface import SceneSurface
    from app.session import load_session
    from engine.cameras import Renderer

    emit.status("loading")
    session = load_session(SCENE, compute=compute)
    scene, model, points = session.scene, session.engine.model, session.engine.positions()
    drawn = SceneSurface(scene, model, points)
    emit("cameras.triangles", len(drawn.surface.triangles))
    poses = {name: camera_pose(camera, model, points) for name, camera in scene.cameras.items()}
    with one_core():
        for samples in (1, 2):
            renderer = Renderer(drawn.surface, compute, samples)
            move = _least(lambda r=renderer: r.move(drawn.positions(points)))
            each = [_least(lambda n=n, r=renderer: r.picture(scene.cameras[n].pinhole, poses[n])) for n in poses]
            picture = float(np.mean(each))
            emit(f"cameras.picture_{samples}x{samples}", 1e3 * picture, "ms")
            emit(f"cameras.per_simulated_second_{samples}x{samples}", RATE * (move + len(poses) * picture), "s")
        emit("cameras.move", 1e3 * move, "ms")
        cast = _ray_caster(drawn, points, scene.cameras["ego"], poses["ego"], compute)
        emit("cameras.rays", 1e3 * _least(cast), "ms")
        _stored(emit, [renderer.picture(camera.pinhole, poses[n]) for n, camera in scene.cameras.items()])
        _through_egl(emit, session, points)


def _least(work: Callable[[], object]) -> float:
    """Processor seconds of one call, after one that loads kernels."""
    work()
    found = []
    for _ in range(AGAIN):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


@wp.kernel
def _rays_kernel(
    mesh: wp.uint64, eye: wp.vec3, turn: wp.mat33, step: float, width: int, height: int,
    depth_out: wp.array(dtype=float),
):  # fmt: skip
    p = wp.tid()
    x = (float(p % width) - 0.5 * float(width - 1)) * step
    y = (float(p / width) - 0.5 * float(height - 1)) * step
    query = wp.mesh_query_ray(mesh, eye, turn * wp.vec3(x, y, 1.0), 100.0)
    depth_out[p] = wp.where(query.result, query.t, 0.0)


def _ray_caster(drawn, points: np.ndarray, camera, pose: np.ndarray, compute: str) -> Callable[[], object]:
    """Depth alone, with Warp's own tree, refitted: no shadow and no colour yet."""
    x = wp.array(drawn.positions(points), dtype=wp.vec3, device=compute)
    triangles = wp.array(drawn.surface.triangles.reshape(-1), dtype=int, device=compute)
    mesh = wp.Mesh(x, triangles)
    pinhole = camera.pinhole
    depth = wp.empty(pinhole.width * pinhole.height, dtype=float, device=compute)

    def work():
        mesh.refit()
        wp.launch(
            _rays_kernel, len(depth),
            [mesh.id, wp.vec3(pose[:3, 3]), wp.mat33(pose[:3, :3]), pinhole.step, pinhole.width, pinhole.height],
            [depth], device=compute,
        )  # fmt: skip
        wp.synchronize_device(compute)

    return work


def _stored(emit: Emit, pictures: list) -> None:
    """Bytes of a picture as the file beside an episode holds them, and the time that packing takes."""
    from app.record.camera_file import encode_depth
    from app.record.chunked import GZIP_LEVEL
    from app.record.points import shuffle_bytes

    def work():
        arrays = (array for p in pictures for array in (p.rgb, encode_depth(p.depth)))
        return [len(zlib.compress(shuffle_bytes(array), GZIP_LEVEL)) for array in arrays]

    emit("cameras.stored", np.sum(work()) / len(pictures) / 1e3, "kB")
    emit("cameras.packing", 1e3 * _least(work) / len(pictures), "ms")


def _through_egl(emit: Emit, session, points: np.ndarray) -> None:
    """Colour alone, drawn by Polyscope off screen, as films are."""
    try:
        from app.view.offscreen import Offscreen

        offscreen = Offscreen(SIZE, quality="low")
    except Exception as error:  # noqa: BLE001 - no library, no EGL
        emit.status(f"no EGL here: {error}")
        return
    from app.frame import Frame

    frame = Frame(0, True, 0.0, 0.0, 0.0, 0.0, points=points)
    for quality in ("low", "high"):
        offscreen._quality.__init__(quality)
        offscreen.set_scene(session.scene, points)
        emit(f"cameras.egl_{quality}", 1e3 * _least(lambda: offscreen.pixels(frame, {})), "ms")
    offscreen.close()
