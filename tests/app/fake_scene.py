"""A scene and an engine without physics, with the same surface as the real ones: fast, and bad on request."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import trimesh

from engine.types import BodyInfo, Control, JointInfo, MeshInfo, Signals, StepReport

DT = 1.0 / 30.0
TABLE_TOP = 0.0


def _strip(nx: int = 41, ny: int = 6) -> tuple[np.ndarray, np.ndarray]:
    i, j = np.mgrid[0:nx, 0:ny].reshape(2, -1)
    x = np.c_[0.004 * i - 0.16, 0.004 * j - 0.05, np.full(len(i), 1e-4)]
    n = np.arange(nx * ny).reshape(nx, ny)
    a, b, c, d = n[:-1, :-1].ravel(), n[1:, :-1].ravel(), n[1:, 1:].ravel(), n[:-1, 1:].ravel()
    return x, np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


def _box(extents, center) -> tuple[np.ndarray, np.ndarray]:
    mesh = trimesh.creation.box(extents)
    return np.asarray(mesh.vertices) + np.asarray(center), np.asarray(mesh.faces)


class FakeScene:
    """A strip on a table beside a box, a palm with two fingers, and a pad. Points: frame points of bodies first."""

    def __init__(self, name: str = "fake_strip"):
        self.name = name
        self.description = "Pinch the strip, lift it, drag it over the box, let go."
        self.hints = ["close the gripper on the strip (Space)", "lift it with E", "drag it over the box"]
        self.camera = ((0.34, -0.52, 0.36), (0.0, 0.0, 0.05), (0.0, 0.0, 1.0))
        self.bookmarks = {"top": ((0.0, -0.01, 0.75), (0.0, 0.0, 0.0)), "side": ((0.0, -0.6, 0.12), (0.0, 0.0, 0.05))}
        self.options = SimpleNamespace(dt=DT)
        self.config = SimpleNamespace(name=name)
        palm = _box((0.06, 0.03, 0.04), (0, 0, 0))
        finger = _box((0.008, 0.02, 0.05), (0, 0, 0))
        bodies = {
            "palm": (*palm, (-0.06, -0.04, 0.12)),
            "finger_a": (*finger, (-0.08, -0.04, 0.075)),
            "finger_b": (*finger, (-0.04, -0.04, 0.075)),
        }
        points, meshes, infos = [], {}, {}
        count = 0
        for index, (body, (_, _, place)) in enumerate(bodies.items()):
            frame = np.concatenate([[place], np.eye(3)])
            infos[body] = BodyInfo(
                body, 4 * index, count, body == "palm", 20.0 if body == "palm" else None, 0.2, np.eye(4)
            )
            points.append(frame)
            count += 4

        def mesh(name, kind, x, faces, rest=None, **more):
            nonlocal count
            meshes[name] = MeshInfo(name, kind, slice(count, count + len(x)), faces, rest=rest, **more)
            points.append(x)
            count += len(x)

        for index, (body, (x, faces, place)) in enumerate(bodies.items()):
            mesh(body, "body", x + np.asarray(place), faces, rest=x, body=index)
        strip, strip_faces = _strip()
        mesh("strip", "shell", strip, strip_faces, rest=strip, material=SimpleNamespace(thickness=8e-5))
        table, table_faces = _box((0.6, 0.42, 0.02), (0, 0, TABLE_TOP - 0.01))
        mesh("table", "static", table, table_faces)
        box, box_faces = _box((0.12, 0.1, 0.07), (0.1, 0.03, 0.035))
        mesh("carton", "static", box, box_faces)
        sphere = trimesh.creation.icosphere(2, 0.018)
        pad = np.asarray(sphere.vertices) + (-0.17, 0.1, 0.02)
        mesh("pad", "solid", pad, np.asarray(sphere.faces), rest=pad)
        self.points = np.concatenate(points)
        joints = {f: JointInfo(f, "prismatic", 0, k, drive=object()) for f, k in (("finger_a", 1), ("finger_b", 2))}
        self.model = SimpleNamespace(
            meshes=meshes, bodies=infos, joints=joints, num_worlds=1, points_per_world=count, device="cpu",
            topology_version=0, warnings=(),
        )  # fmt: skip
        coat = np.asarray(sphere.faces)[:60]
        self.pads = [
            SimpleNamespace(
                name="left", mesh="pad", coat=coat, frame=np.eye(4), pixel_pitch=2e-4, resolution=(80, 60), body="palm"
            )
        ]
        self.tools = [
            SimpleNamespace(
                name="gripper", palm="palm", fingers=["finger_a", "finger_b"], open_position=0.02, closed_position=0.0,
                grasp_meshes=["finger_a", "finger_b"], home=np.eye(4),
            )
        ]  # fmt: skip
        look = SimpleNamespace(color=(0.26, 0.29, 0.33), finish="metal", transparency=0.0, show=True)
        card = SimpleNamespace(color=(0.76, 0.60, 0.42), finish="cardboard", transparency=0.0, show=True)
        tape = SimpleNamespace(color=(0.80, 0.62, 0.38), finish="tape", transparency=0.15, show=True)
        self.visuals = {name: look for name in bodies} | {"carton": card, "strip": tape}


class FakeEngine:
    """Follows its drive down to the table and no further. `fail_at` raises, `nan_at` gives NaN at that step."""

    def __init__(self, scene: FakeScene, options=None, fail_at: int = -1, nan_at: int = -1, iterations: int = 3):
        self.scene = scene
        self.model = scene.model
        self.options = scene.options
        self.fail_at, self.nan_at, self.iterations = fail_at, nan_at, iterations
        self.calls: list[str] = []
        self.held: dict[str, np.ndarray] = {}
        self.touch: dict[str, dict[str, np.ndarray]] = {}  # finger -> mesh -> vertices, set by a test
        self._k = 0
        self._start = scene.points.copy()
        self._x = scene.points.copy()
        self._target = self.body_transform("palm")
        self._joints = np.full(2, 0.02)

    def control(self) -> Control:
        return Control(self._target[None, None].copy(), self._joints[None].copy())

    def step(self, control=None, on_iteration=None) -> StepReport:
        self.calls.append("step")
        self._k += 1
        for iteration in range(self.iterations):
            if on_iteration is not None:
                on_iteration(iteration)
        if self._k == self.fail_at:
            raise RuntimeError("the fake engine was asked to fail")
        if control is not None:
            self._target = control.body_transform[0, 0].copy()
            self._joints = control.joint_target[0].copy()
        old = self._x[0].copy()
        reached = self._target[:3, 3].copy()
        reached[2] = max(reached[2], TABLE_TOP + 0.075)
        move = reached - old
        for name in ("palm", "finger_a", "finger_b"):
            self._x[self.model.bodies[name].points] += move
            self._x[self.model.meshes[name].points] += move
        strip = self.model.meshes["strip"].points
        base = self._start[strip]
        phase = 0.5 * (1 - np.cos(0.05 * self._k))
        self._x[strip, 2] = base[:, 2] + 0.05 * phase * np.clip((base[:, 0] + 0.1) / 0.1, 0, 1) ** 2
        if self._k == self.nan_at:
            self._x[strip] = np.nan
        self._gap = self._target[:3, 3] - self._x[0]
        return StepReport(
            newton_iterations=3, linear_iterations=41, linear_solver="band", newton_update=3e-3, newton_residual=2e-4,
            contacts=128, min_distance=4e-5,
            stage_seconds={"contact": 4e-3, "assemble": 2e-3, "linear": 5e-3, "ccd": 1e-3},
        )  # fmt: skip

    def signals(self) -> Signals:
        self.calls.append("signals")
        p = len(self._x)
        force = np.zeros((1, p, 3))
        strip = self.model.meshes["strip"].points
        force[0, strip, 2] = 0.02 * np.abs(np.sin(np.linspace(0, 6, strip.stop - strip.start) + 0.1 * self._k))
        gap = self._gap[None, None]
        return Signals(
            force, np.zeros((1, p, 3)), gap, 200.0 * gap + 0.3 * np.sin(0.1 * self._k), self._joints[None],
            np.array([[0.4, 0.4]]), np.array([128]), np.array([4e-5]),
        )  # fmt: skip

    def positions(self, world: int = 0) -> np.ndarray:
        return self._x.copy()

    def mesh_positions(self, name: str, world: int = 0) -> np.ndarray:
        return self._x[self.model.meshes[name].points].copy()

    def body_transform(self, name: str, world: int = 0) -> np.ndarray:
        out = np.eye(4)
        first = self.model.bodies[name].points
        out[:3, 3] = self._x[first]
        out[:3, :3] = self._x[first + 1 : first + 4].T
        return out

    def get_state(self) -> dict[str, np.ndarray]:
        return {
            "x": self._x.copy(),
            "k": np.array(self._k),
            "target": self._target.copy(),
            "joints": self._joints.copy(),
        }

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        self.calls.append("set_state")
        self._x, self._k = state["x"].copy(), int(state["k"])
        self._target, self._joints = state["target"].copy(), state["joints"].copy()

    def reset(self, world=None) -> None:
        self.calls.append("reset")
        self.__init__(self.scene, fail_at=self.fail_at, nan_at=self.nan_at, iterations=self.iterations)
        self.calls.append("reset")

    def apply(self, edits) -> None:
        self.calls.append("apply")
        for edit in edits:
            if hasattr(edit, "body"):
                self.held[edit.mesh] = np.array(edit.vertices)
            else:
                self.held.pop(edit.mesh)

    def touching(self, meshes, world: int = 0) -> dict[str, np.ndarray]:
        return {mesh: ids for mesh, ids in self.touch.get(meshes[0], {}).items()}

    def grasped(self, world: int = 0) -> dict[str, np.ndarray]:
        return dict(self.held)

    def save(self, path) -> None:
        np.savez(path, **self.get_state())

    def load(self, path) -> None:
        with np.load(path) as data:
            self.set_state(dict(data))
