"""From an episode to what a policy is trained on: one continuous motion with n states and n - 1 actions.

A recorded frame i holds what was asked in step i and what was measured after it. So the states of a demonstration are
those after its frames, and the action between two of them is the control of the later frame. (The state before
the very first step is known by positions alone; a demonstration begins one step later.)

A reset or a loaded checkpoint breaks the motion. Where the state that was gone back to is that after an earlier frame,
to the bit, the frames in between are what the operator took back: they are left out and the motion goes on from there.
Anything else begins a new stretch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.export.options import ExportError, ExportOptions
from app.record import Episode

_SMALL = 64  # numbers a frame: more is an image or a field of points, not a vector for a policy
_OBSERVED = ("signals/", "tactile/", "extra/")
_IMAGES = ("rgb", "image", "indentation", "depth", "pressure", "shear", "contact")
_FIELDS = ("marker",)  # of a pad: vectors for a policy, however many dots there are
_CONSTANTS = ("pixel_pitch",)
_CLOCK_SLACK = 1e-6  # [s]


@dataclass(frozen=True, eq=False)
class Demonstration:
    """One motion of an episode. n: states. Names of numbers stand beside every vector."""

    episode: Episode
    taken: np.ndarray  # (m,) int: all recorded frames of the motion, in order
    options: ExportOptions

    @cached_property
    def frames(self) -> np.ndarray:
        """(n,) int: state k is the one after this recorded frame."""
        return self.taken[:: self.options.every]

    @property
    def name(self) -> str:
        return self.episode.name

    @property
    def task(self) -> str:
        """Instruction in words, else the scene's name."""
        return self.episode.instruction or self.episode.scene_name or "unnamed"

    @property
    def success(self) -> bool | None:
        """What the operator said; None: nothing."""
        return {"success": True, "failure": False}.get(self.episode.label or "")

    def __len__(self) -> int:
        return len(self.frames)

    @cached_property
    def time(self) -> np.ndarray:
        """Simulated time of each state since the first [s] (n,)."""
        elapsed = np.concatenate([[0.0], np.cumsum(self.episode.time.dt[self.taken[1:]])])
        return elapsed[:: self.options.every]

    @property
    def dt(self) -> float:
        """Simulated time between two states [s]. Raises ExportError when it changes within the motion."""
        steps = self.episode.time.dt[self.taken[1:]]
        if not len(steps) or not steps[0] > 0.0 or np.ptp(steps) > 1e-6 * steps[0]:
            raise ExportError(f"{self.name}: the time step changes within the motion; this format needs one rate")
        return float(steps[0]) * self.options.every

    # -- actions ------------------------------------------------------------------------------------------------

    @cached_property
    def action(self) -> tuple[np.ndarray, list[str]]:
        """(n - 1, A) float64 and A names: row k leads from state k to state k + 1."""
        if self.options.action == "target":
            return self._targets(self.frames[1:])  # those of the last step before the next state
        parts = [(np.asarray(self.episode["command/twist"], float), [f"twist.{a}" for a in _TWIST])]
        if "command/gripper_rate" in self.episode:
            parts.append((np.asarray(self.episode["command/gripper_rate"], float)[:, None], ["gripper_rate"]))
        per_frame = np.nan_to_num(np.concatenate([values for values, _ in parts], axis=1))
        every = self.options.every
        blocks = [self.taken[k * every + 1 : (k + 1) * every + 1] for k in range(len(self) - 1)]
        mean = np.array([per_frame[block].mean(axis=0) for block in blocks])
        return mean.reshape(len(blocks), per_frame.shape[1]), sum((names for _, names in parts), [])

    def _targets(self, frames: np.ndarray) -> tuple[np.ndarray, list[str]]:
        """Poses of the driven tools and targets of the driven joints."""
        episode, layout = self.episode, self.episode.layout
        if "control/body_transform" not in episode:
            raise ExportError(f"{self.name} holds no targets; export with --action command")
        transforms = np.asarray(episode["control/body_transform"], float)[frames, 0]
        driven = layout.get("driven") or [f"body{d}" for d in range(transforms.shape[1])]
        tools = {tool["palm"]: tool["name"] for tool in layout.get("tools", ()) if isinstance(tool, dict)}
        rows = [(d, tools.get(body, body)) for d, body in enumerate(driven) if body in tools or not tools]
        parts, names = [], []
        for d, name in rows[: transforms.shape[1]]:
            parts += [transforms[:, d, :3, 3], _continuous(_quaternions(transforms[:, d, :3, :3]))]
            names += [f"{name}.{axis}" for axis in _POSE]
        if "control/joint_target" in episode:
            targets = np.asarray(episode["control/joint_target"], float)[frames, 0]
            joints = layout.get("joints") or [f"joint{j}" for j in range(targets.shape[1])]
            parts.append(targets)
            names += [str(joint) for joint in joints[: targets.shape[1]]]
        for robot, joints in self._robots.items():
            parts.append(np.asarray(self.episode[f"extra/robots/{robot}/asked"], float)[frames])
            names += [f"{robot}.{joint}" for joint in joints]
        values = np.concatenate(parts, axis=1) if parts else np.zeros((len(frames), 0))
        if not values.shape[1]:
            raise ExportError(f"{self.name}: the scene has nothing that is driven, so there are no actions")
        if not np.isfinite(values).all():
            raise ExportError(f"{self.name}: targets that are not finite")
        return values, names

    @property
    def _robots(self) -> dict[str, list[str]]:
        """Names of the joint coordinates by robot, of those that were recorded."""
        robots = self.episode.layout.get("robots", {})
        return {
            name: joints for name, joints in robots.items() if joints and f"extra/robots/{name}/asked" in self.episode
        }

    # -- observations -------------------------------------------------------------------------------------------

    @property
    def observations(self) -> dict[str, tuple[np.ndarray, list[str]]]:
        """Name -> (n, ...) and the names of its numbers: tools, joints, forces, pads, tape. Finite everywhere."""
        return self._observed[0]

    @property
    def left_out(self) -> list[str]:
        """Columns that would have been observations, with the reason."""
        return self._observed[1]

    @cached_property
    def _observed(self) -> tuple[dict[str, tuple[np.ndarray, list[str]]], list[str]]:
        found: dict[str, tuple[np.ndarray, list[str]]] = {}
        left_out = []
        for path in self.episode.columns():
            if not path.startswith(_OBSERVED) or path.startswith("extra/guide/"):  # a judge, not a sense
                continue
            if path.split("/")[-1] in (*_IMAGES, *_CONSTANTS) or (
                path.startswith("extra/robots/") and path.endswith("asked")
            ):
                continue
            value = self.episode.rows(path, 0, 1)
            if not isinstance(value, np.ndarray) or value.dtype.kind not in "iuf" or not value.size:
                continue
            if value.size > _SMALL and not (path.startswith("tactile/") and path.endswith(_FIELDS)):
                continue
            rows = np.asarray(self.episode[path], float)[self.frames].reshape(len(self), -1)
            if not np.isfinite(rows).all():
                left_out.append(f"{path} (not finite)")
                continue
            found |= self._named(path, rows)
        return found, left_out

    def _named(self, path: str, rows: np.ndarray) -> dict[str, tuple[np.ndarray, list[str]]]:
        parts = path.split("/")
        if parts[:2] == ["extra", "tools"] and parts[-1] == "pose":
            tool = parts[2]
            return {
                f"{tool}_pos": (rows[:, :3], list("xyz")),
                f"{tool}_quat": (_continuous(rows[:, 3:]), ["qx", "qy", "qz", "qw"]),
            }
        if parts[:2] == ["extra", "robots"]:
            joints = self.episode.layout.get("robots", {}).get(parts[2], [])
            return {
                f"{parts[2]}_joints": (
                    rows,
                    [f"{parts[2]}.{j}" for j in joints] or list(map(str, range(rows.shape[1]))),
                )
            }
        skip = 2 if parts[:2] in (["extra", "tools"], ["extra", "tape"]) else 1
        name = "_".join(parts[skip:])
        width = rows.shape[1]
        if parts[0] == "signals" and parts[-1].startswith("joint_"):
            joints = self.episode.layout.get("joints", [])
            if len(joints) == width:
                return {name: (rows, [str(joint) for joint in joints])}
        if parts[0] == "signals" and parts[-1].startswith("drive_"):
            driven = self.episode.layout.get("driven", [])
            if len(driven) * 3 == width:
                return {name: (rows, [f"{body}.{axis}" for body in driven for axis in "xyz"])}
        return {name: (rows, [name] if width == 1 else list("xyz") if width == 3 else [str(i) for i in range(width)])}

    @cached_property
    def stages(self) -> tuple[np.ndarray, list[str]]:
        """Whether each stage of the task holds, by the physics (n, S) bool, and S names; none in a task without."""
        before = "extra/guide/stages/"
        names = [path[len(before) :] for path in self.episode.columns() if path.startswith(before)]
        order = {name: k for k, name in enumerate(self.episode.layout.get("stages", ()))}
        names.sort(key=lambda name: order.get(name, len(order)))
        columns = [np.asarray(self.episode[before + name], float)[self.frames] > 0.5 for name in names]
        return (np.stack(columns, axis=1) if columns else np.zeros((len(self), 0), bool)), names

    @property
    def stage(self) -> np.ndarray | None:
        """(n,) int64: how many stages hold in a row, so the number of the one to do next; None in a task without."""
        path = "extra/guide/reached"
        if path not in self.episode:
            return None
        return np.nan_to_num(np.asarray(self.episode[path], float)[self.frames]).astype(np.int64)

    @property
    def state_parts(self) -> list[str]:
        """Names of the observations that make up `robot_state`, in order."""
        poses = [f"{tool}_{part}" for tool in self._tools for part in ("pos", "quat")]
        joints = ["joint_position", *(f"{robot}_joints" for robot in self._robots)]
        return [name for name in (*poses, *joints) if name in self.observations]

    @property
    def _tools(self) -> list[str]:
        """In the order of the scene, which is that of the action; tools that it does not name come last."""
        ends = [path.split("/") for path in self.episode.columns() if path.startswith("extra/tools/")]
        order = [tool["name"] for tool in self.episode.layout.get("tools", ()) if isinstance(tool, dict)]
        found = [parts[2] for parts in ends if parts[-1] == "pose"]
        return sorted(found, key=lambda name: order.index(name) if name in order else len(order))

    @cached_property
    def robot_state(self) -> tuple[np.ndarray, list[str]]:
        """(n, S) and S names: measured poses of tools, then measured joints."""
        parts, names = [], []
        for name in self.state_parts:
            rows, of = self.observations[name]
            parts.append(rows)
            names += of if "joint" in name else [f"{name.rsplit('_', 1)[0]}.{axis}" for axis in of]
        if not parts:
            raise ExportError(
                f"{self.name} holds no measured poses of tools (recorded by an older version, or a scene without tools)"
            )
        return np.concatenate(parts, axis=1), names

    def positions(self, k: int) -> np.ndarray:
        """[m] (P, 3) of state k."""
        return self.episode.positions(int(self.frames[k]) + 1)

    # -- images of pads -----------------------------------------------------------------------------------------

    def image_names(self) -> list[str]:
        """Columns that hold images, e.g. "tactile/pad/depth"."""
        if not self.options.images:
            return []
        return [p for p in self.episode.columns() if p.startswith("tactile/") and p.split("/")[-1] in _IMAGES]

    def images(self, path: str) -> Iterator[np.ndarray]:
        """n images as recorded; between two recorded ones the earlier holds, before the first the first."""
        first = (self._image(path, row) for row in range(self.episode.num_frames))
        shown = next((image for image in first if image is not None), None)
        if shown is None:
            raise ExportError(f"{self.name}: {path} holds no image")
        known = -1
        for frame in self.frames:
            for row in range(known + 1, int(frame) + 1):
                image = self._image(path, row)
                shown = shown if image is None else image
            known = int(frame)
            yield shown

    def _image(self, path: str, row: int) -> np.ndarray | None:
        """None when that frame has no image: then small ones are all NaN, others missing."""
        image = self.episode.rows(path, row, row + 1)[0]
        lost = image is None or (image.dtype.kind == "f" and np.isnan(image).all())
        return None if lost else np.asarray(image)


_TWIST = ("vx", "vy", "vz", "wx", "wy", "wz")
_POSE = ("x", "y", "z", "qx", "qy", "qz", "qw")


def demonstrations(episode: Episode, options: ExportOptions) -> list[Demonstration]:
    """Those of one episode, in time order; with `stretches` "last" one at most. A trim of the episode holds."""
    found = []
    for frames in _stretches(episode):
        if len(frames) > options.every:  # two states at least
            found.append(Demonstration(episode, frames, options))
    return found[-1:] if options.stretches == "last" else found


def _stretches(episode: Episode) -> list[np.ndarray]:
    """Frames of every stretch of continuous motion, what was taken back left out."""
    start, stop = episode.kept
    simulated, dt, hashes = episode.time.simulated, episode.time.dt, episode.hashes()
    breaks = {row for row, _ in episode.segments()}
    stretches: list[list[int]] = [[]]
    for row in range(start, stop):
        now = stretches[-1]
        if now and row in breaks and abs(simulated[row] - simulated[row - 1] - dt[row]) > _CLOCK_SLACK:
            back = _state_gone_back_to(episode, row, now, hashes)
            if back is None:
                stretches.append([])
            else:
                del now[back + 1 :]
        stretches[-1].append(row)
    return [np.array(frames, dtype=int) for frames in stretches]


def _state_gone_back_to(episode: Episode, row: int, frames: list[int], hashes: np.ndarray) -> int | None:
    """Place in `frames` of the frame after which the state was, to the bit, the one that step `row` started from."""
    restarts = [k for k, r in enumerate(episode.keyframe_rows) if r == row and episode.keyframe_restart[k]]
    if not restarts:
        return None
    wanted = episode.state_hash(episode.keyframe(restarts[-1]))
    for place in range(len(frames) - 1, -1, -1):
        if int(hashes[frames[place] + 1]) == wanted:
            return place
    return None


def _quaternions(rotations: np.ndarray) -> np.ndarray:
    """(n, 4) x y z w of rotation matrices (n, 3, 3)."""
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(rotations).as_quat() if len(rotations) else np.zeros((0, 4))


def _continuous(quaternions: np.ndarray) -> np.ndarray:
    """The same rotations with signs chosen so that neighbours in time are near each other; the first has w >= 0."""
    if not len(quaternions):
        return quaternions
    flips = np.sign(np.sum(quaternions[1:] * quaternions[:-1], axis=1))
    sign = np.cumprod(np.concatenate([[1.0], np.where(flips == 0.0, 1.0, flips)]))
    sign *= -1.0 if quaternions[0, 3] < 0.0 else 1.0
    return quaternions * sign[:, None]
