"""From a Frame to its leaves: path -> number, text, list or array, in one walk. This is what a recorded step holds.

The same walk is made for every frame, in the frame loop, right after a step that has thrown everything out of the
caches: what costs is the number of objects that are touched, not the arithmetic. So names are made once and not looked
at again.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import EnumMeta as EnumType
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import numpy as np

from app.record.packing import LEAVES, MAX_DEPTH, field_names, plain
from app.record.records import GROUPS, SINGLE_PRECISION_FROM

JSON_FIELDS = frozenset({"sample/raw", "status/raw"})  # free-form: one JSON cell rather than a column for each key
SINGLE = ("signals", "tactile")  # groups whose large arrays become float32
OWN = {  # fields of a Frame itself -> path, type
    "time_sim": ("time/simulated", float), "time_wall": ("time/wall", float), "time_mono": ("time/monotonic", float),
    "dt": ("time/dt", float), "index": ("frame/index", int), "mode": ("frame/mode", None),
    "paused_reason": ("frame/paused_reason", None), "realtime_factor": ("frame/realtime_factor", float),
}  # fmt: skip
AGAIN = {"sample/t_device": "time/device", "sample/t_receive": "time/receive"}  # stored twice: clocks stand together
CASTS = {path: cast for path, cast in OWN.values() if cast is not None}
CASTS |= dict.fromkeys((*AGAIN, *AGAIN.values()), float)
NONE: frozenset = frozenset()
EMPTY = frozenset({tuple, list, frozenset, set})
MAX_NAMES = 20_000  # kept; a device that invents keys must not fill the memory
MAX_RESTS = 50

_own = attrgetter(*OWN)


class Leaves(NamedTuple):
    """Paths and values, one for one.

    Of all Leaves whose `paths` are one object, the first `settled` values have the same types, and arrays among them
    the same types and shapes.
    """

    paths: tuple[str, ...]
    values: tuple
    settled: int = 0

    @staticmethod
    def of(table: dict[str, Any]) -> Leaves:
        return Leaves(tuple(table), tuple(table.values()))

    def table(self) -> dict[str, Any]:
        return dict(zip(self.paths, self.values, strict=True))


class LeafReader:
    """`read(frame, with_images)` -> Leaves. `image_names`: entries of a pad that are images."""

    def __init__(self, image_names: tuple[str, ...] = ()):
        self._image_names = frozenset(image_names)
        self._names: dict[tuple[str, Any], str] = {}
        self._tables: dict[str, tuple[list, list[str]]] = {}
        self._fields: dict[tuple[str, type], tuple[tuple[str, ...], Callable[[Any], tuple]]] = {}
        self._plan: _Plan | None = None

    def read(self, frame: Any, with_images: bool = True) -> Leaves:
        """Everything in a Frame but its positions, requests and events, as `app.record.columns.flatten` names it.

        `frame` needs the fields of app.frame.Frame; sample, command, control, report and signals may be any dataclass,
        so that fields added to them later are recorded without a change here. None is left out. Large float64 arrays of
        `signals` and `tactile` become float32. Images are left out unless `with_images`.
        """
        parts = [getattr(frame, name, None) for name in GROUPS]
        kinds = tuple(map(type, parts))
        if self._plan is None or self._plan.kinds != kinds:
            self._plan = _Plan(kinds, self._fields_of)
        plan = self._plan
        values = plan.values(frame, parts)
        if not plan.fits(values):
            plan.adopt(values)
        with np.errstate(over="ignore"):  # of numbers that float32 cannot hold
            found = plan.taken(values)
            rest = self._rest(plan, values, frame.extra, with_images)
        return Leaves(plan.paths_with(rest), (*found, *rest.values()), len(found))

    def _rest(self, plan: _Plan, values: tuple, extra: dict | None, with_images: bool) -> dict[str, Any]:
        """What is neither a number, a text, an array nor empty, taken apart."""
        out: dict[str, Any] = {}
        for value, (path, single) in zip(plan.others(values), plan.other_paths, strict=True):
            if path in JSON_FIELDS:
                out[path] = _free_form(value)
            elif type(value) is dict:
                self._floats(value, path, out, single)
            else:
                self._leaf(value, path, out, 0, NONE, single)
        left_out = NONE if with_images else self._image_names
        for key, value in (extra or {}).items():
            if key == "tactile" and isinstance(value, dict):
                self._walk(value, "tactile", out, 0, left_out, True)
            else:
                self._leaf(value, self._name("extra", key), out, 0, NONE, False)
        return out

    def _floats(self, value: dict, path: str, out: dict[str, Any], single: bool) -> None:
        """A table of numbers, such as the times of the stages; any other dict as usual."""
        if set(map(type, value.values())) == {float}:
            out.update(zip(self._below(path, value), value.values(), strict=True))
        else:
            self._walk(value, path, out, 1, NONE, single)

    def _walk(self, value: Any, path: str, out: dict, depth: int, left_out: frozenset, single: bool) -> None:
        kind = type(value)
        if depth >= MAX_DEPTH:
            out[path] = "<nested too deeply>"
        elif path in JSON_FIELDS:
            out[path] = _free_form(value)
        elif kind is dict:
            for (key, item), below in zip(value.items(), self._below(path, value), strict=True):
                if key not in left_out:
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

    def _below(self, path: str, table: dict) -> list[str]:
        """Paths of the entries of a table at `path`; nearly always those of the frame before."""
        keys = list(table)
        known = self._tables.get(path)
        if known is None or known[0] != keys:
            if len(self._tables) >= MAX_NAMES:
                self._tables.clear()
            known = self._tables[path] = (keys, [self._name(path, key) for key in keys])
        return known[1]

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
    """Where the fields of a frame and its parts go as long as their types stay: most are numbers, texts and arrays,
    which then are taken in one go. `kinds`: types of the parts."""

    def __init__(self, kinds: tuple[type, ...], fields_of):
        self.kinds, self._types, self._arrays = kinds, (), []
        self._rest, self._all, self._with = [], (), {}  # paths of the rest: of the frame before; all; all by the rest
        self._getters, self._paths = [], [(path, False) for path, _ in OWN.values()]
        for place, (name, kind) in enumerate(zip(GROUPS, kinds, strict=True)):
            if hasattr(kind, "__dataclass_fields__"):
                names, getter = fields_of(name, kind)
                self._getters.append((place, getter))
                self._paths += [(path, name in SINGLE) for path in names]
            elif kind is not type(None):
                self._getters.append((place, lambda value: (value,)))
                self._paths.append((name, name in SINGLE))

    def values(self, frame: Any, parts: list[Any]) -> tuple:
        """Of all fields of the frame itself and of all parts."""
        found = [*_own(frame)]
        for place, getter in self._getters:
            found += getter(parts[place])
        return tuple(found)

    def fits(self, values: tuple) -> bool:
        """Whether the plan made for other values holds for these."""
        return (
            tuple(map(type, values)) == self._types
            and [(array.dtype, array.shape) for array in self._arrays_of(values)] == self._arrays
            and not any(self._empty_of(values))
        )

    def adopt(self, values: tuple) -> None:
        """From now on fields have these types."""
        self._types = tuple(map(type, values))
        taken: list[tuple[str, int]] = []  # path and place of what is stored as it is
        others, empty, arrays, self._changed = [], [], [], []
        for place, (value, (path, single)) in enumerate(zip(values, self._paths, strict=True)):
            kind = type(value)
            if kind is np.ndarray and value.dtype.kind in "biuf":
                arrays.append(place)
                if single and value.dtype == np.float64 and value.size > SINGLE_PRECISION_FROM:
                    self._changed.append((len(taken), _single))
                taken.append((path, place))
            elif kind in EMPTY and not value:
                empty.append(place)
                self._changed.append((len(taken), list))
                taken.append((path, place))
            elif isinstance(kind, EnumType) and type(value.value) in LEAVES:
                self._changed.append((len(taken), attrgetter("_value_")))  # `value` is a slow property
                taken.append((path, place))
            elif kind not in LEAVES and path not in CASTS:
                others.append(place)
            elif value is not None:
                for name in (path, AGAIN[path]) if path in AGAIN else (path,):
                    if name in CASTS and kind is not CASTS[name]:
                        self._changed.append((len(taken), CASTS[name]))
                    taken.append((name, place))
        self.taken_paths, self._taken_of = [path for path, _ in taken], _picker([place for _, place in taken])
        self.others, self.other_paths = _picker(others), [self._paths[place] for place in others]
        self._rest, self._all, self._with = [], tuple(self.taken_paths), {}
        self._empty_of, self._arrays_of = _picker(empty), _picker(arrays)
        self._arrays = [(array.dtype, array.shape) for array in self._arrays_of(values)]

    def paths_with(self, rest: dict[str, Any]) -> tuple[str, ...]:
        """All paths; the same object for the same rest, until other types are adopted."""
        paths = list(rest)
        if paths != self._rest:
            if len(self._with) >= MAX_RESTS:
                self._with.clear()
            known = self._with.get(tuple(paths))
            if known is None:
                known = self._with[tuple(paths)] = (*self.taken_paths, *paths)
            self._rest, self._all = paths, known
        return self._all

    def taken(self, values: tuple) -> list[Any]:
        """Values of `taken_paths`."""
        found = list(self._taken_of(values))
        for place, change in self._changed:
            found[place] = change(found[place])
        return found


def _picker(places: list[int]) -> Callable[[tuple], tuple]:
    """Values at places, always as a tuple."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda values: tuple(values[i] for i in places)


def _free_form(value: Any) -> Any:
    """`plain`, quickly for a small table of numbers and texts."""
    if type(value) is dict and LEAVES.issuperset(map(type, value.values())) and set(map(type, value)) <= {str}:
        return value
    return plain(value)


def _single(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float32) if array.dtype == np.float64 else array
