"""All tactile sensors of an engine, in all its worlds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import warp as wp

from engine.contact.stencils import stride_of
from engine.tactile import coat, forces, markers, raster
from engine.tactile.images import Coat, Images, Reference, images_kernel
from engine.tactile.layout import Layout, holder_frames, make_layout
from engine.tactile.memory import check_memory
from engine.tactile.signal_table import GROUPS, SIGNALS, checked
from engine.tactile.spec import SensorSpec

ALL = tuple(GROUPS)
IMAGES = ("depth", "normal", "indentation", "pressure", "shear", "contact", "points", "world_points")


class TactileArray:
    """Signals of sensors, made on the engine's device after a step.

    Args:
        engine: the engine whose gels are read; nothing of it is changed.
        sensors: see `SensorSpec`.
        signals: names of `SIGNALS` or `GROUPS`; what is not asked for is not computed and takes no memory.
        colours: sensor name -> colour model for `rgb`; None: `engine.tactile.rgb.ColourModel` of every sensor with a
            calibration. Sensors without one give no colour image.
        contact_pressure: [Pa] above which a pixel counts as touched.
        capture: replay the launches as a graph.

    Raises KeyError, ValueError: unknown signals or meshes, no coat, a camera that sees nothing; MemoryError: images of
    so many worlds do not fit.
    """

    def __init__(
        self, engine, sensors: Sequence[SensorSpec], signals=ALL, colours: dict | None = None,
        contact_pressure: float = 100.0, capture: bool = True,
    ):  # fmt: skip
        self.engine, self.sensors = engine, tuple(sensors)
        self.groups = checked(signals)
        self.colours = colours if colours is not None else self._colour_models() if "rgb" in self.groups else {}
        self.contact_pressure = contact_pressure
        self._names = {spec.name: k for k, spec in enumerate(self.sensors)}
        self._capture = capture
        self._worlds, self._loaded = engine.model.num_worlds, False
        check_memory(self.sensors, self._worlds, self.groups, engine.model.device)
        self._adopt_model()

    # making the signals ---------------------------------------------------------------------------------------------
    def update(self) -> None:
        """Signals of the engine's present state. On CUDA nothing is read back, save the number
        of contacts where there may be more than their arrays hold."""
        if not self.sensors:
            return
        self._follow_engine()
        if "forces" in self.groups:
            self._read_forces()
        if not self._capture or not self._loaded:  # kernels are loaded by the first run
            self._launch()
            self._loaded = True
            return
        if self._graph is None:
            with wp.ScopedCapture(device=self.layout.device, force_module_load=False) as captured:
                self._launch()
            self._graph = captured.graph
        wp.capture_launch(self._graph)

    def _launch(self) -> None:
        """The algorithm."""
        self._sensor_poses()
        self._coat_vertices()
        if "forces" in self.groups:
            self._gather_forces()
            self._coat_traction()
            self._wrenches()
        if "markers" in self.groups:
            self._markers()
        if self._has_images:
            self._see_triangles()
            self._images()
        if "rgb" in self.groups:
            self._colour_images()

    # reading --------------------------------------------------------------------------------------------------------
    def array(self, signal: str, sensor: str) -> wp.array:
        """A signal of one sensor in all worlds, on the device, not copied: (W, height, width), (W, markers) or (W, 6)
        of the signal's dtype. Raises KeyError for what is not there."""
        self._refuse_unknown(signal, sensor)
        k = self._names[sensor]
        whole, per = self._signals[signal], SIGNALS[signal].per
        if per == "sensor":
            return whole[:, k]
        where = self.layout.pixels[k] if per == "pixel" else self.layout.markers[k]
        part = whole[:, where]
        if per == "marker":
            return part
        camera = self.sensors[k].camera
        size = SIGNALS[signal].bytes
        view = wp.array(
            ptr=part.ptr, dtype=whole.dtype, shape=(self._worlds, camera.height, camera.width), device=whole.device,
            strides=(self.layout.num_pixels * size, camera.width * size, size), capacity=part.capacity,
        )  # fmt: skip
        view._owner = whole  # the memory lives as long as the view
        return view

    def numpy(self, signal: str, sensor: str, world: int = 0) -> np.ndarray:
        """A copy of one world's signal: (height, width, ..), (markers, ..) or (6,)."""
        self._refuse_unknown(signal, sensor)
        return self._part(signal, self._names[sensor], self._signals[signal][world].numpy()).copy()

    def read_world(self, signals, world: int = 0) -> dict[str, dict[str, np.ndarray]]:
        """Sensor -> signal -> copy: as `numpy` for every sensor, with one transfer a signal. `rgb` only of sensors that
        have it."""
        out = {spec.name: {} for spec in self.sensors}
        for signal in signals:
            row = self._signals[signal][world].numpy()
            for k, spec in enumerate(self.sensors):
                if signal != "rgb" or spec.name in self.colours:
                    out[spec.name][signal] = self._part(signal, k, row).copy()
        return out

    def _part(self, signal: str, k: int, row: np.ndarray) -> np.ndarray:
        """A sensor's part of a world's row, in the sensor's shape."""
        per, camera = SIGNALS[signal].per, self.sensors[k].camera
        if per == "sensor":
            return row[k]
        if per == "marker":
            return row[self.layout.markers[k]]
        return row[self.layout.pixels[k]].reshape(camera.height, camera.width, *SIGNALS[signal].shape)

    def reference(self, signal: str, sensor: str) -> np.ndarray:
        """What an undeformed sensor gives for depth, normal, marker, marker_pixel or rgb."""
        k = self._names[sensor]
        if signal == "rgb":
            return self.colours[sensor].reference()
        return self._part(signal, k, self._rest[signal].numpy())

    def world_from_sensor(self, sensor: str, world: int = 0) -> np.ndarray:
        """(4, 4) at the last update."""
        pose = np.eye(4)
        pose[:3, :3] = self._axes.numpy()[world, self._names[sensor]]
        pose[:3, 3] = self._origin.numpy()[world, self._names[sensor]]
        return pose

    def coat(self, sensor: str, world: int = 0) -> np.ndarray:
        """Coat vertices in the sensor frame [m], (k, 3), in the order of np.unique(spec.coat)."""
        return self._local.numpy()[world, self.layout.vertices[self._names[sensor]]]

    def coat_displacement(self, sensor: str, world: int = 0) -> np.ndarray:
        """How far each coat vertex has moved in the sensor frame [m], (k, 3), ordered like `coat`."""
        where = self.layout.vertices[self._names[sensor]]
        return self._local.numpy()[world, where] - self.layout.rest[where]

    # stages ---------------------------------------------------------------------------------------------------------
    def _sensor_poses(self) -> None:
        a, model = self.layout.arrays, self.engine.model
        self._run(
            coat.poses_kernel, len(self.sensors),
            [self.engine.state.x, a["node"], model.nodes_per_world, self._holder_axes, self._holder_origin],
            [self._axes, self._inverse, self._origin],
        )  # fmt: skip

    def _coat_vertices(self) -> None:
        a = self.layout.arrays
        self._run(
            coat.vertices_kernel, self.layout.num_vertices,
            [self._points, a["vertex_point"], a["vertex_sensor"], self.engine.model.points_per_world, self._inverse,
             self._origin, a["rest"], coat.RESOLUTION],
            [self._local],
        )  # fmt: skip
        self._coat_shape(self._local, self._normal, self._seen, self._worlds)

    def _coat_shape(self, local, normal, seen, worlds: int) -> None:
        a = self.layout.arrays
        dim = (worlds, self.layout.num_vertices)
        self._run(
            coat.normals_kernel, dim, [local, a["triangles"], a["corner_start"], a["corner_triangle"]], [normal]
        )
        self._run(raster.camera_frame_kernel, dim, [local, a["vertex_sensor"], self.layout.cameras], [seen])

    def _see_triangles(self) -> None:
        """The nearest coat triangle of every pixel."""
        self._cover(self._seen, self._key, self._worlds)

    def _cover(self, seen, key, worlds: int) -> None:
        a = self.layout.arrays
        key.fill_(int(raster.NOTHING))
        self._run(
            raster.cover_kernel, (worlds, self.layout.num_triangles),
            [seen, a["triangles"], a["triangle_sensor"], a["triangle_start"], self.layout.cameras], [key],
        )  # fmt: skip

    def _images(self) -> None:
        """Every pixel is written, so nothing of the frame before is left."""
        coats = self._coats(self._seen, self._normal, self._traction)
        self._read_pixels(self._key, coats, self._reference, self._axes, self._origin, self._image_arrays, self._worlds)

    def _coats(self, seen, normal, traction) -> Coat:
        coats = Coat()
        coats.seen, coats.normal = seen, normal
        if traction is not None and "forces" in self.groups:
            coats.traction = traction
        coats.triangles, coats.triangle_start = (self.layout.arrays[n] for n in ("triangles", "triangle_start"))
        return coats

    def _read_pixels(self, key, coats, reference, axes, origin, out: Images, worlds: int) -> None:
        a, pixels = self.layout.arrays, self.layout.num_pixels
        stride = min(stride_of(self.layout.device), pixels)
        self._run(
            images_kernel, (worlds, stride),
            [key, a["pixel_sensor"], a["pixel_ray"], self.layout.cameras, coats, reference, axes, origin,
             self.contact_pressure, stride, out],
            [],
        )  # fmt: skip

    def _read_forces(self) -> None:
        """Contact of the last step. A stepper that was made anew after it (the front of a roll moved) has not seen it;
        the engine's own read-out has, contact and friction alone. In a state that was set, forces are not known: 0."""
        engine = self.engine
        if engine.contact_known == self._told_forces:
            self._told_forces, self._graph = not engine.contact_known, None
        if self._told_forces:
            self._force.zero_()
            if engine.told is not None:
                force = engine.told.contact_force + engine.told.friction_force
                self._force.assign(force[:, self.layout.gel_points])
        elif engine.newton.system.has_contact:
            engine.read_contact()
            self._follow_engine()  # reading may find more contacts than its arrays held

    def _gather_forces(self) -> None:
        if self._told_forces:
            return
        self._force.zero_()
        stride = stride_of(self.layout.device)
        for blocks in self._blocks:
            wp.launch(
                forces.gather_forces_kernel, stride,
                [blocks.count, blocks.points, blocks.gradient, self._point_slot, stride], [self._force.reshape((-1,))],
                device=self.layout.device,
            )  # fmt: skip

    def _coat_traction(self) -> None:
        a = self.layout.arrays
        self._run(
            forces.traction_kernel, self.layout.num_vertices,
            [self._force, a["vertex_gel"], a["vertex_sensor"], a["vertex_area"], self._axes, self._normal],
            [self._traction],
        )  # fmt: skip

    def _wrenches(self) -> None:
        a = self.layout.arrays
        self._run(
            forces.wrench_kernel, len(self.sensors),
            [self._force, self._points, a["gel_point"], a["gel_start"], self.engine.model.points_per_world, self._axes,
             self._origin],
            [self._signals["wrench"]],
        )  # fmt: skip

    def _markers(self) -> None:
        s = self._signals
        self._place_markers(
            self._local, self._axes, self._origin, s["marker"], s["world_marker"], s["marker_pixel"], self._worlds
        )
        self._run(
            markers.flow_kernel, self.layout.num_markers,
            [s["marker"], s["marker_pixel"], self._rest["marker"], self._rest["marker_pixel"]],
            [s["flow"], s["pixel_flow"]],
        )  # fmt: skip

    def _place_markers(self, local, axes, origin, marker, world_marker, pixel, worlds: int) -> None:
        a = self.layout.arrays
        self._run(
            markers.markers_kernel, (worlds, self.layout.num_markers),
            [local, a["marker_corner"], a["marker_weights"], a["marker_sensor"], self.layout.cameras, axes, origin],
            [marker, world_marker, pixel],
        )  # fmt: skip

    def _colour_images(self) -> None:
        for name, colour in self.colours.items():
            colour.launch(self.array("depth", name), self.array("normal", name), self.array("rgb", name))

    def _run(self, kernel, size, inputs, outputs) -> None:
        dim = size if isinstance(size, tuple) else (self._worlds, size)
        wp.launch(kernel, dim, inputs, outputs, device=self.layout.device)

    # keeping up with the engine -------------------------------------------------------------------------------------
    def _adopt_model(self) -> None:
        """All arrays; also after a cut elsewhere has renumbered the points."""
        self.layout = make_layout(self.engine, self.sensors)
        self._topology = self.engine.model.topology_version
        self._allocate(self.layout)
        self._find_holders()
        self._find_reference()
        self._seen_stepper, self._graph, self._blocks, self._told_forces = None, None, [], False

    def _allocate(self, layout: Layout) -> None:
        w, device = self._worlds, layout.device

        def zeros(shape, dtype):
            return wp.zeros(shape, dtype=dtype, device=device)

        count = {"pixel": layout.num_pixels, "marker": layout.num_markers, "sensor": len(self.sensors)}
        self._signals = {}
        for group in self.groups:
            for name in GROUPS[group]:
                signal = SIGNALS[name]
                shape = (w, count["sensor"], 6) if name == "wrench" else (w, count[signal.per])
                self._signals[name] = zeros(shape, signal.dtype)
        self._axes, self._inverse = zeros((w, count["sensor"]), wp.mat33d), zeros((w, count["sensor"]), wp.mat33d)
        self._origin = zeros((w, count["sensor"]), wp.vec3d)
        self._holder_axes = zeros((w, count["sensor"]), wp.mat33d)
        self._holder_origin = zeros((w, count["sensor"]), wp.vec3d)
        vertices = (w, layout.num_vertices)
        self._local, self._seen = zeros(vertices, wp.vec3d), zeros(vertices, wp.vec3d)
        self._normal, self._traction = zeros(vertices, wp.vec3f), zeros(vertices, wp.vec3f)
        self._key = zeros((w, layout.num_pixels), wp.int64)
        self._force = zeros((w, layout.num_gel), wp.vec3d)
        self._image_arrays = Images()
        for name in IMAGES:
            if name in self._signals:
                setattr(self._image_arrays, name, self._signals[name])
        self._has_images = any(name in self._signals for name in IMAGES)

    def _find_holders(self) -> None:
        """Where the sensors sit on their holders in every world; also after worlds were drawn anew."""
        self._renewed = self.engine.renewed
        if self.sensors:
            axes, origin = holder_frames(self.engine.model, self.sensors)
            self._holder_axes.assign(axes)
            self._holder_origin.assign(origin)

    def _find_reference(self) -> None:
        """Images and markers of the undeformed coats, by the same kernels."""
        layout = self.layout

        def zeros(count, dtype):
            return wp.zeros((1, count), dtype=dtype, device=layout.device)

        local = layout.arrays["rest"].reshape((1, -1))
        normal, seen = zeros(layout.num_vertices, wp.vec3f), zeros(layout.num_vertices, wp.vec3d)
        self._coat_shape(local, normal, seen, 1)
        key = zeros(layout.num_pixels, wp.int64)
        self._cover(seen, key, 1)
        images, none = Images(), Reference()
        images.depth, images.normal = zeros(layout.num_pixels, wp.float32), zeros(layout.num_pixels, wp.vec3f)
        axes = wp.array(np.tile(np.eye(3), (1, len(self.sensors), 1, 1)), dtype=wp.mat33d, device=layout.device)
        origin = zeros(len(self.sensors), wp.vec3d)
        self._read_pixels(key, self._coats(seen, normal, None), none, axes, origin, images, 1)
        marker, world, pixel = (zeros(layout.num_markers, t) for t in (wp.vec3d, wp.vec3d, wp.vec2d))
        self._place_markers(local, axes, origin, marker, world, pixel, 1)
        found = {"depth": images.depth, "normal": images.normal, "marker": marker, "marker_pixel": pixel}
        self._rest = {name: row.reshape((row.shape[1],)) for name, row in found.items()}
        self._reference = Reference()
        self._reference.depth = self._rest["depth"]
        for name, colour in self.colours.items():
            colour.set_rest(self.reference("normal", name))
        self._reference.facing = wp.array(self._directions(), dtype=wp.float32, device=layout.device)

    def _colour_models(self) -> dict:
        from engine.tactile.rgb import ColourModel  # here: most uses need no colour

        device = self.engine.model.device
        calibrated = [spec for spec in self.sensors if spec.calibration is not None]
        return {s.name: ColourModel(s.calibration, s.camera, device, s.preset) for s in calibrated}

    def _directions(self) -> np.ndarray:
        """By sensor: 1 when its camera looks out through the coat, -1 when in. ValueError when it sees none of it."""
        depths, normals, facing = self._rest["depth"].numpy(), self._rest["normal"].numpy(), []
        for spec, where in zip(self.sensors, self.layout.pixels, strict=True):
            seen = depths[where] > 0.0
            if not seen.any():
                raise ValueError(_blind(spec))
            along = normals[where][seen].mean(axis=0) @ spec.camera.sensor_from_camera[:3, 2]
            facing.append(1.0 if along >= 0.0 else -1.0)
        return np.array(facing, np.float32)

    def _follow_engine(self) -> None:
        """Arrays of the stepper change places when it is rebuilt, or when a contact list grows."""
        engine = self.engine
        if engine.model.topology_version != self._topology:
            self._adopt_model()
        if engine.renewed != self._renewed:
            self._find_holders()
        newton = engine.newton
        if self._seen_stepper is not newton:
            self._seen_stepper, self._graph = newton, None
            self._point_slot = self._slots()
        self._points = engine.points
        blocks = [term.blocks for term in engine.interfaces]
        if newton.system.has_contact:
            blocks = [newton.system.contacts, newton.system.friction.blocks, *blocks]
        places = [engine.state.x.ptr, self._points.ptr]
        places += [array.ptr for b in blocks for array in (b.points, b.count, b.gradient)]
        if places != getattr(self, "_places", None):
            self._places, self._graph = places, None
        self._blocks = blocks

    def _slots(self) -> wp.array:
        """Gel vertex, counted over all worlds, of every point of the stepped model; -1 for other points."""
        model = self.engine.model
        slots = np.full(model.num_points, -1, np.int32)
        for w in range(self._worlds):
            numbers = np.arange(self.layout.num_gel) + w * self.layout.num_gel
            slots[self.layout.gel_points + w * model.points_per_world] = numbers
        if self.engine.reduction is not None:
            slots = slots[self.engine.reduction.points]
        return wp.array(slots, dtype=int, device=self.layout.device)

    def _refuse_unknown(self, signal: str, sensor: str) -> None:
        if sensor not in self._names:
            raise KeyError(f"no sensor '{sensor}'; available: {', '.join(self._names) or 'none'}")
        if signal not in self._signals:
            legal = ", ".join(self._signals)
            raise KeyError(f"no signal '{signal}' is computed here; available: {legal}")
        if signal == "rgb" and sensor not in self.colours:
            raise KeyError(f"sensor '{sensor}' has no calibration, so no colour image")


def _blind(spec: SensorSpec) -> str:
    x, y, z = spec.camera.sensor_from_camera[:3, 3]
    where = f"({x:.4g}, {y:.4g}, {z:.4g}) m in the sensor frame"
    return f"sensor {spec.name}: its camera at {where} sees nothing of the coat"
