"""From a Frame to its leaves: path -> number, text, list or array, in one walk. This is what a recorded step holds.

The same walk is made for every frame, in the frame loop, so names that were made once are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import EnumMeta as EnumType
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from app.record.packing import LEAVES, MAX_DEPTH, field_names, plain
from app.record.records import GROUPS, SINGLE_PRECISION_FROM

JSON_FIELDS = frozenset({"sample/raw", "status/raw"})  # free-form: one JSON cell rather than a column for each key
SINGLE = ("signals", "tactile")  # groups whose large arrays become float32
NONE: frozenset = frozenset()
EMPTY = frozenset({tuple, list, frozenset, set})
MAX_NAMES = 20_000  # kept; a device that invents keys must not fill the memory


class LeafReader:
    """`read(frame, with_images)` -> dict of leaves. `image_names`: entries of a pad that are images."""

    def __init__(self, image_names: tuple[str, ...] = ()):
        self._image_names = frozenset(image_names)
        self._names: dict[tuple[str, Any], str] = {}
        self._fields: dict[tuple[str, type], tuple[tuple[str, ...], Callable[[Any], tuple]]] = {}
        self._plan: _Plan | None = None

    def read(self, frame: Any, with_images: bool = True) -> dict[str, Any]:
        """Everything in a Frame but its positions, requests and events, as `app.record.columns.flatten` names it.

        `frame` needs the fields of app.frame.Frame; sample, command, control, report and signals may be any dataclass,
        so that fields added to them later are recorded without a change here. None is left out. Large float64 arrays of
        `signals` and `tactile` become float32. Images are left out unless `with_images`.
        """
        sample = frame.sample
        out: dict[str, Any] = {
            "time/simulated": float(frame.time_sim),
            "time/wall": float(frame.time_wall),
            "time/monotonic": float(frame.time_mono),
        }
        if sample is not None:
            if sample.t_device is not None:
                out["time/device"] = sample.t_device
            out["time/receive"] = float(sample.t_receive)
        out["time/dt"] = float(frame.dt)
        out["frame/index"], out["frame/mode"] = int(frame.index), frame.mode
        out["frame/paused_reason"], out["frame/realtime_factor"] = frame.paused_reason, float(frame.realtime_factor)
        with np.errstate(over="ignore"):  # of numbers that float32 cannot hold
            self._read_groups(frame, out, with_images)
        return out

    def _read_groups(self, frame: Any, out: dict[str, Any], with_images: bool) -> None:
        parts = [getattr(frame, name, None) for name in GROUPS]
        kinds = tuple(map(type, parts))
        if self._plan is None or self._plan.kinds != kinds:
            self._plan = _Plan(kinds, self._fields_of)
        values = self._plan.values(parts)
        if tuple(map(type, values)) != self._plan.types:
            self._plan.adopt(values)
        plan = self._plan
        out.update(zip(plan.plain_paths, plan.plain(values), strict=True))
        for value, (path, single) in zip(plan.others(values), plan.other_paths, strict=True):
            if type(value) is dict and path not in JSON_FIELDS:
                self._floats(value, path, out, single)
            elif path in JSON_FIELDS:
                out[path] = plain(value)
            else:
                self._leaf(value, path, out, 0, NONE, single)
        left_out = NONE if with_images else self._image_names
        for key, value in (frame.extra or {}).items():
            if key == "tactile" and isinstance(value, dict):
                self._walk(value, "tactile", out, 0, left_out, True)
            else:
                self._leaf(value, self._name("extra", key), out, 0, NONE, False)

    def _floats(self, value: dict, path: str, out: dict[str, Any], single: bool) -> None:
        """A table of numbers, such as the times of the stages; any other dict as usual."""
        if set(map(type, value.values())) == {float}:
            names = self._names
            for key, item in value.items():
                out[names.get((path, key)) or self._name(path, key)] = item
        else:
            self._walk(value, path, out, 1, NONE, single)

    def _walk(self, value: Any, path: str, out: dict, depth: int, left_out: frozenset, single: bool) -> None:
        kind = type(value)
        if depth >= MAX_DEPTH:
            out[path] = "<nested too deeply>"
        elif path in JSON_FIELDS:
            out[path] = plain(value)
        elif kind is dict:
            names = self._names
            for key, item in value.items():
                if key in left_out:
                    continue
                below = names.get((path, key)) or self._name(path, key)
                self._leaf(item, below, out, depth, left_out, single)
        elif hasattr(kind, "__dataclass_fields__"):
            names, getter = self._fields.get((path, kind)) or self._fields_of(path, kind)
            for below, item in zip(names, getter(value), strict=True):
                if type(item) in LEAVES:  # most of them
                    if item is not None:
                        out[below] = item
                else:
                    self._leaf(item, below, out, depth, left_out, single)
        else:
            self._leaf(value, path, out, depth - 1, left_out, single)

    def _leaf(self, item: Any, path: str, out: dict, depth: int, left_out: frozenset, single: bool) -> None:
        """A value inside of what was walked into at `depth`."""
        kind = type(item)
        if kind in LEAVES:
            if item is not None:
                out[path] = item
        elif kind is np.ndarray and item.dtype.kind in "biuf":
            out[path] = _single(item) if single and item.size > SINGLE_PRECISION_FROM else item
        elif kind in EMPTY and not item:
            out[path] = []
        elif isinstance(kind, EnumType) and type(item.value) in LEAVES:
            out[path] = item.value
        elif kind is dict or hasattr(kind, "__dataclass_fields__"):
            self._walk(item, path, out, depth + 1, left_out, single)
        else:
            self._other(item, path, out, depth + 1, left_out, single)

    def _other(self, value, path, out, depth, left_out, single) -> None:
        """Lists, enums, device arrays, numbers of numpy, whatever else."""
        found = plain(value, depth)
        if isinstance(found, (dict, np.ndarray)) and found is not value:
            self._leaf(found, path, out, depth - 1, left_out, single)
        elif found is not None:
            out[path] = found

    def _name(self, path: str, key: Any) -> str:
        name = self._names.get((path, key))
        if name is None:
            name = f"{path}/{str(key).replace('/', '_').strip('. ') or '_'}"
            if len(self._names) < MAX_NAMES:
                self._names[path, key] = name
        return name

    def _fields_of(self, path: str, kind: type) -> tuple[tuple[str, ...], Callable[[Any], tuple]]:
        """Paths of the fields of a dataclass, and what gives their values."""
        fields = field_names(kind)
        names = tuple(self._name(path, name) for name in fields)
        getter = attrgetter(*fields) if len(fields) > 1 else (lambda value: tuple(getattr(value, f) for f in fields))
        self._fields[path, kind] = found = (names, getter)
        return found


class _Plan:
    """Where the fields of a frame's parts go, as long as their types stay: most are numbers and texts, which then are
    taken in one go. `kinds`: types of the parts."""

    def __init__(self, kinds: tuple[type, ...], fields_of):
        self.kinds, self.types = kinds, ()
        self._getters, self._paths = [], []
        for place, (name, kind) in enumerate(zip(GROUPS, kinds, strict=True)):
            if hasattr(kind, "__dataclass_fields__"):
                names, getter = fields_of(name, kind)
                self._getters.append((place, getter))
                self._paths += [(path, name in SINGLE) for path in names]
            elif kind is not type(None):
                self._getters.append((place, lambda value: (value,)))
                self._paths.append((name, name in SINGLE))

    def values(self, parts: list[Any]) -> tuple:
        """Of all fields of all parts."""
        found: list[Any] = []
        for place, getter in self._getters:
            found += getter(parts[place])
        return tuple(found)

    def adopt(self, values: tuple) -> None:
        """From now on fields have these types."""
        self.types = tuple(map(type, values))
        known = [i for i, kind in enumerate(self.types) if kind in LEAVES and kind is not type(None)]
        rest = [i for i, kind in enumerate(self.types) if kind not in LEAVES]
        self.plain, self.plain_paths = _picker(known), [self._paths[i][0] for i in known]
        self.others, self.other_paths = _picker(rest), [self._paths[i] for i in rest]


def _picker(places: list[int]) -> Callable[[tuple], tuple]:
    """Values at places, always as a tuple."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda values: tuple(values[i] for i in places)


def _single(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float32) if array.dtype == np.float64 else array
