"""One indenter pressed into a finely meshed GelSight pad, and how its depth map compares with the indenter's height."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import numpy as np
from scipy.ndimage import binary_erosion

import bench.measure  # noqa: F401 - quiet results
from bench.indenters import Indenter, Placed, height_field, pixel_places, place
from bench.pad_problem import graded
from engine import ContactMaterial, Engine, ModelBuilder, Options
from engine.mesh import shapes
from engine.tactile.array import TactileArray
from scenes.build_sensor import sensor_of
from scenes.gel_faces import find_faces
from scenes.gel_mesh import GelMesh
from scenes.sensors import preset

DEPTH = 1e-3  # [m] of the indenter's highest point under the undeformed coat
COLUMNS = {"patterns": 2400, "parts": 2400, "own": 1600}  # of cells that cover what is reached of the camera's view
CELLS = (0.15e-3, 0.8e-3)  # [m] finest and coarsest cell there
AROUND = 0.5e-3  # [m] by which the fine cells reach beyond the indenter
STRIDES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.0)  # of the depth; the last step takes out what is left of the motion
START = 0.1e-3  # [m] above the coat: the nearest point is known to the grid on which it was sought
DHAT = 0.01e-3  # [m]
CONTACT_PRESSURE = 1e3  # [Pa] from which a pixel counts as touched


@dataclass(frozen=True)
class Pad:
    """pad: scenes.sensors.Sensor it was made from; spec: its engine.tactile.spec.SensorSpec; mesh: of the gel, its coat
    at z = 0, so that the sensor frame is the gel's; cell [m]: at the coat under the indenter."""

    pad: object
    spec: object
    mesh: GelMesh
    cell: float


def fine_pad(reached: np.ndarray, columns: int, name: str = "gelsight") -> Pad:
    """A shipped sensor whose gel is meshed anew: so many columns of cells at the coat within `reached` (2, 2), lower
    and upper corner in x and y [m], as far as the camera sees it; growing outside and below.

    So the relief is resolved, while extents, camera and colours stay the sensor's own.
    """
    asked = preset(name, link="holder")
    size, camera = np.array(asked.gel.size), asked.camera
    view = 0.5 * camera.pixel_pitch * np.array(camera.resolution)
    low, high = np.clip(reached, -view, view)
    cell = float(np.clip(np.sqrt(np.prod(high - low) / columns), *CELLS))
    lines = []
    for k, extent in enumerate(0.5 * size[:2]):
        middle = 0.5 * (low[k] + high[k])
        half = 0.5 * (high[k] - low[k]) + AROUND
        below, above = (graded(cell, half, extent + sign * middle, 1.6) for sign in (1.0, -1.0))
        lines.append(middle + np.concatenate([-below[:0:-1], above]))
    lines.append(-graded(cell, cell, size[2], 1.6)[::-1])
    counts = tuple(len(line) - 1 for line in lines)
    unit, tets = shapes.box_tets(*counts, (1.0, 1.0, 1.0))
    index = np.rint((unit + 0.5) * counts).astype(int)
    vertices = np.column_stack([line[index[:, k]] for k, line in enumerate(lines)])
    mesh = GelMesh(vertices, tets, np.flatnonzero(index[:, 2] == counts[2]), np.flatnonzero(index[:, 2] == 0))
    contact = replace(asked.contact, dhat=DHAT)
    asked = replace(asked, contact=contact)
    coat, held = find_faces("pad", asked, mesh)
    return Pad(asked, sensor_of("pad", asked, mesh, coat, held), mesh, cell)


@dataclass(frozen=True)
class Press:
    """All maps (height, width) of the sensor's camera. depth, rgb: what it shows; truth [m]: how far the indenter
    reaches into the undeformed coat along the sensor's axis, 0 where it does not; touched: bool; force [N];
    converged; newton: iterations; tilt [rad] of the indenter; points and cell [m] of the pad."""

    depth: np.ndarray
    rgb: np.ndarray
    truth: np.ndarray
    touched: np.ndarray
    force: float
    converged: bool
    newton: int
    tilt: float
    points: int
    cell: float

    @property
    def compared(self) -> np.ndarray:
        """Pixels of the contact, bool: touched, and the indenter reaches into the coat there and at the four pixels
        around (a gel that bulges against a wall is touched beside it; on a wall the height changes within a pixel)."""
        return self.touched & binary_erosion(self.truth > 0.0, border_value=1)

    @property
    def correlation(self) -> float:
        """Pearson's, of depth map and indenter's height within the contact [-]."""
        return correlation(self.depth[self.compared], self.truth[self.compared])

    @property
    def correlation_everywhere(self) -> float:
        """The same over the whole image, where the truth knows nothing of the slope of the gel beside the contact."""
        return correlation(self.depth.reshape(-1), self.truth.reshape(-1))

    @property
    def filled(self) -> float:
        """Share of the pixels that the indenter reaches which are touched [-]."""
        return float(self.compared.sum() / max((self.truth > 0.0).sum(), 1))

    @property
    def error(self) -> float:
        """Median distance of depth map and indenter within the contact [m]."""
        return float(np.median(np.abs(self.depth - self.truth)[self.compared]))


def kept(path: Path, make: Callable[[], Press]) -> Press:
    """What `make` gives, from the file where it was put before."""
    if not path.is_file():
        pressed = make()
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, **asdict(pressed))
        return pressed
    with np.load(path) as file:
        read = {field.name: file[field.name] for field in fields(Press)}
    return Press(**{name: value if value.ndim else value.item() for name, value in read.items()})


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Pearson's coefficient [-]; NaN where one of them does not vary, or there are fewer than ten values."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    if len(a) < 10 or min(a.std(), b.std()) < 1e-12:
        return float("nan")
    return float(np.mean((a - a.mean()) * (b - b.mean())) / (a.std() * b.std()))


def press_one(one: Indenter, compute: str = "cpu", say: Callable[[str], None] = lambda text: None) -> Press:
    """Place an indenter, mesh a pad for it, press it in by DEPTH."""
    placed = place(one, DEPTH)
    pad = fine_pad(placed.reached, COLUMNS[one.group])
    say(f"{one.name}: pad of {len(pad.mesh.vertices)} points, cells of {1e3 * pad.cell:.2f} mm")
    return press(pad, placed, DEPTH, compute, say)


def press(
    pad: Pad, placed: Placed, depth: float, compute: str = "cpu", say: Callable[[str], None] = lambda text: None
) -> Press:
    """Lower the indenter into the coat by `depth` [m] in STRIDES of long steps, and read the sensor."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    gel, held = pad.mesh, pad.spec.held
    builder.add_solid("pad", gel.vertices, gel.tets, material=pad.pad.material, contact=pad.pad.contact, pinned=held)
    start = np.eye(4)
    start[2, 3] = START
    mass = 10.0  # [kg] heavy: a drive is as stiff as its body's mass over dt^2 lets it be
    builder.add_body(
        "indenter", placed.vertices, placed.triangles, ContactMaterial(dhat=DHAT, kappa=1e6, friction_mu=0.5),
        mass=mass, inertia=np.eye(3) * mass * 1e-4, transform=start, driven=True,
    )  # fmt: skip
    options = Options(dt=0.1, newton_tolerance=5e-5, linear_tolerance=1e-3, linear_solver="pcg")
    engine = Engine(builder.finalize(device=compute), options)
    tactile = TactileArray(engine, [pad.spec], contact_pressure=CONTACT_PRESSURE)
    control, converged, newton = engine.control(), True, 0
    for share in STRIDES:
        control.body_transform[0, 0, 2, 3] = -share * depth
        report = engine.step(control)
        say(f"{share:.0%}: {report.newton_iterations} Newton, {report.contacts} contacts")
        converged &= report.converged
        newton += report.newton_iterations
    tactile.update()
    reached = engine.body_transform("indenter")[2, 3]
    x, y = pixel_places(pad.spec.camera)
    lowest = -height_field(placed.vertices * (1.0, 1.0, -1.0), placed.triangles, x, y) + reached
    read = {name: tactile.numpy(name, "pad") for name in ("indentation", "rgb", "contact", "wrench")}
    return Press(
        read["indentation"], read["rgb"], np.nan_to_num(np.maximum(-lowest, 0.0)), read["contact"] > 0,
        -float(read["wrench"][2]), converged, newton, placed.tilt, len(pad.mesh.vertices), pad.cell,
    )  # fmt: skip
