"""From a sensor of a file, or a pad of a scene, to a gel in the model and the SensorSpec that reads it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.tactile.spec import Camera, SensorSpec, place_markers
from scenes.errors import SceneError
from scenes.gel_faces import Surface, find_faces
from scenes.gel_mesh import GelMesh, make_gel
from scenes.motion import rigid_transform, transform_points
from scenes.sensors import GelPad, Markers, OrthographicCamera, PinholeCamera

DEFAULT_PITCH = 1e-4  # [m] of an orthographic image of which nothing is said


def add_sensor(
    draft, name: str, pad: GelPad, body: str | None, world_from_gel: np.ndarray, link: Surface | None = None
) -> SensorSpec:
    """Put the gel into the model, bond its held faces to `body` (None: pin them) and note its sensor.

    world_from_gel (4, 4): the gel frame at start; for a sensor of a robot: world from link at start, times
    `link_from_gel(sensor)`. link: surface of the body in the gel frame, for `held: {link: true}`.

    Raises SceneError: see `scenes.gel_mesh.make_gel`, `scenes.gel_faces.find_faces`, `sensor_of`.
    """
    mesh = make_gel(pad.gel, pad.at("gel"))
    draft.notes += mesh.notes
    coat, held = find_faces(name, pad, mesh, link)
    vertices = transform_points(world_from_gel, mesh.vertices)
    draft.builder.add_solid(
        name, vertices, mesh.tets, material=pad.material, contact=pad.contact, pinned=held if body is None else None
    )
    if body is not None:
        draft.builder.attach(name, held, body)
    spec = sensor_of(name, pad, mesh, coat, held)
    spec = replace(spec, body=body, world_from_sensor=world_from_gel @ spec.world_from_sensor)
    draft.pads.append(spec)
    draft.show(name, pad)
    return spec


def link_from_gel(sensor) -> np.ndarray:
    """(4, 4) of a `scenes.sensors.Sensor`."""
    return rigid_transform(sensor.position, sensor.rotation)


def sensor_of(name: str, pad: GelPad, mesh: GelMesh, coat: np.ndarray, held: np.ndarray) -> SensorSpec:
    """The sensor of a gel that stands alone: its world is the gel frame.

    Raises SceneError: image too large or too small, a camera that sees nothing of the coat, dots outside the coat, a
    calibration that cannot be read or is another sensor's.
    """
    frame = sensor_frame(mesh.vertices, coat)
    points = transform_points(np.linalg.inv(frame), mesh.vertices)
    camera = _camera(name, pad, points, coat)
    columns_rows = camera.project(points[np.unique(coat)])
    if not _overlaps(columns_rows, camera):
        raise SceneError(_blind(name, camera, columns_rows), pad.at("camera"))
    triangle, weights, shape = _markers(name, pad, points, coat)
    return SensorSpec(
        name, name, None, coat, held, frame, camera, triangle, weights, shape,
        calibration=_calibration(name, pad, camera), preset=pad.preset,
    )  # fmt: skip


def _calibration(name: str, pad: GelPad, camera: Camera):
    if pad.calibration is None:
        return None
    from engine.tactile.calibration import CalibrationError, load_calibration  # here: most pads have none

    try:
        calibration = load_calibration(pad.calibration)
        calibration.check_camera(camera, pad.preset)
    except CalibrationError as error:
        raise SceneError(f"{name}: {error}", pad.at("calibration")) from None
    return calibration


def sensor_frame(vertices: np.ndarray, coat: np.ndarray) -> np.ndarray:
    """(4, 4) gel from sensor: z along the coat's mean outward normal (area-weighted); y along the gel's z, or along its
    y where the coat looks along z; origin in the middle of the coat, at the height of its outermost point."""
    corners = vertices[coat]
    z = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]).sum(axis=0)
    z /= np.linalg.norm(z)
    rounded = np.round(z)
    z = rounded if np.abs(z - rounded).max() < 1e-6 else z
    up = np.eye(3)[1 if abs(z[2]) > 0.7 else 2]
    y = up - (up @ z) * z
    y /= np.linalg.norm(y)
    frame = np.eye(4)
    frame[:3, :3] = np.stack([np.cross(y, z), y, z], axis=1)
    along = corners.reshape(-1, 3) @ frame[:3, :3]
    low, high = along.min(axis=0), along.max(axis=0)
    frame[:3, 3] = frame[:3, :3] @ np.array([*(0.5 * (low + high))[:2], high[2]])
    return frame


def _camera(name: str, pad: GelPad, points: np.ndarray, coat: np.ndarray) -> Camera:
    given = pad.camera
    spanned = np.ptp(points[np.unique(coat)], axis=0)[:2]
    if isinstance(given, PinholeCamera):
        width, height = given.resolution
        focal = 0.5 * width / np.tan(0.5 * given.field_of_view)
        back = 0.5 * spanned[0] / np.tan(0.5 * given.field_of_view)
        pose = rigid_transform((0.0, 0.0, -back) if given.position is None else given.position, given.rotation)
        return Camera(width, height, pose, focal_length=float(focal))
    assert isinstance(given, OrthographicCamera)
    pitch, resolution = given.pixel_pitch, given.resolution
    if pitch is None:
        pitch = DEFAULT_PITCH if resolution is None else float((spanned / np.array(resolution)).max())
    if resolution is None:
        resolution = tuple(int(n) for n in np.ceil(spanned / pitch - 1e-9))
    if not 2 <= min(resolution) <= max(resolution) <= 4096:
        message = f"{name}: an image of {resolution[0]} x {resolution[1]} pixels; each must lie in 2..4096"
        raise SceneError(message, given.at("pixel_pitch") or pad.at("camera"))
    back = float(points[:, 2].min())
    pose = rigid_transform((0.0, 0.0, back) if given.position is None else given.position, given.rotation)
    return Camera(*resolution, pose, pixel_pitch=float(pitch))


def _overlaps(columns_rows: np.ndarray, camera: Camera) -> bool:
    seen = columns_rows[np.isfinite(columns_rows).all(axis=1)]
    if not len(seen):
        return False
    low, high = seen.min(axis=0), seen.max(axis=0)
    return bool((high >= 0.0).all() and (low <= [camera.width - 1, camera.height - 1]).all())


def _blind(name: str, camera: Camera, columns_rows: np.ndarray) -> str:
    x, y, z = camera.sensor_from_camera[:3, 3]
    dx, dy, dz = camera.sensor_from_camera[:3, 2]
    where = f"{name}: the camera at ({x:.4g}, {y:.4g}, {z:.4g}) m in the sensor frame, "
    where += f"looking along ({dx:.3g}, {dy:.3g}, {dz:.3g}), sees nothing of the coat: "
    seen = columns_rows[np.isfinite(columns_rows).all(axis=1)]
    if not len(seen):
        return where + "all of it lies behind"
    low, high = seen.min(axis=0), seen.max(axis=0)
    return where + (
        f"it lies in columns {low[0]:.0f} to {high[0]:.0f} and rows {low[1]:.0f} to {high[1]:.0f} of an image of "
        f"{camera.width} x {camera.height} pixels"
    )


def _markers(name: str, pad: GelPad, points: np.ndarray, coat: np.ndarray):
    asked = pad.markers
    if asked is None:
        return np.zeros(0, np.int32), np.zeros((0, 3)), (0, 0)
    places = marker_places(asked)
    triangle, weights, found = place_markers(places, points, coat)
    if not found.all():
        on = points[np.unique(coat)]
        (x0, y0), (x1, y1) = on[:, :2].min(axis=0), on[:, :2].max(axis=0)
        first = places[int(np.argmin(found))]
        raise SceneError(
            f"{name}: {int((~found).sum())} of {len(places)} markers lie outside the coat, the first at "
            f"({first[0]:.4g}, {first[1]:.4g}) m; the coat spans x {x0:.4g} to {x1:.4g}, y {y0:.4g} to {y1:.4g} m",
            pad.at("markers"),
        )
    shape = (0, 0) if asked.positions is not None else (asked.rows, asked.columns)
    return triangle, weights, shape


def marker_places(markers: Markers) -> np.ndarray:
    """x and y in the sensor frame [m], (m, 2); of a grid row by row, the first row at the smallest y."""
    if markers.positions is not None:
        return np.array(markers.positions, float).reshape(-1, 2)
    x = (np.arange(markers.columns) - 0.5 * (markers.columns - 1)) * markers.pitch + markers.offset[0]
    y = (np.arange(markers.rows) - 0.5 * (markers.rows - 1)) * markers.pitch + markers.offset[1]
    return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
