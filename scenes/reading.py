"""From a tree with places to checked values: one small class per kind of value, and tables made of them.

A table is a dataclass. Fields of the project's own tables are declared with `setting(...)`; tables that belong to the
engine (materials, options) list their specs beside the class, so that defaults have one home. `describe()` of every
spec feeds the schema reference, which therefore cannot disagree with what is accepted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from scenes.errors import Place, SceneError, did_you_mean, legal_list
from scenes.units import parse_quantity, si_unit
from scenes.yaml_tree import Tree

_TRUE, _FALSE = ("true", "yes", "on"), ("false", "no", "off")


ROOT = "the scene"


def dotted(name: str, key: str) -> str:
    """`name.key`, and `key` alone at the root."""
    return key if name == ROOT else f"{name}.{key}"


class Spec:
    """How one value is read, and how the reference describes it."""

    def read(self, tree: Tree, name: str) -> Any:
        """Value of `tree`; SceneError with its place when it does not fit. `name`: dotted path for messages."""
        raise NotImplementedError

    def describe(self) -> str:
        raise NotImplementedError

    def _scalar(self, tree: Tree, name: str) -> str:
        if not isinstance(tree.value, str):
            raise SceneError(f"{name} is {tree.kind}; it must be {self.describe()}", tree.place)
        return tree.value


@dataclasses.dataclass(frozen=True)
class Quantity(Spec):
    """A number with a dimension. `above` is exclusive, `low` and `high` are inclusive."""

    dimension: str = "number"
    above: float | None = None
    low: float | None = None
    high: float | None = None

    def read(self, tree: Tree, name: str) -> float:
        try:
            value = parse_quantity(self._scalar(tree, name), self.dimension)
        except ValueError as error:
            if isinstance(error, SceneError):
                raise
            raise SceneError(f"{name}: {error}", tree.place) from None
        if self.above is not None and not value > self.above:
            raise SceneError(f"{name} is {tree.value}; it must be greater than {self.above:g}", tree.place)
        if self.low is not None and value < self.low or self.high is not None and value > self.high:
            raise SceneError(f"{name} is {tree.value}; it must lie {self._range()}", tree.place)
        return value

    def _range(self) -> str:
        if self.high is None:
            return f"at or above {self.low:g}"
        return f"at or below {self.high:g}" if self.low is None else f"between {self.low:g} and {self.high:g}"

    def describe(self) -> str:
        unit = si_unit(self.dimension)
        article = "an" if self.dimension[0] in "aeiou" else "a"
        return "a number" if unit == "-" else f"{article} {self.dimension} [{unit}]"


@dataclasses.dataclass(frozen=True)
class Integer(Spec):
    low: int = 0
    high: int = 1_000_000

    def read(self, tree: Tree, name: str) -> int:
        text = self._scalar(tree, name)
        try:
            value = int(text)
        except ValueError:
            raise SceneError(f"{name} is {tree.kind}; it must be {self.describe()}", tree.place) from None
        if not self.low <= value <= self.high:
            raise SceneError(f"{name} is {value}; it must lie between {self.low} and {self.high}", tree.place)
        return value

    def describe(self) -> str:
        return "a whole number"


@dataclasses.dataclass(frozen=True)
class Flag(Spec):
    def read(self, tree: Tree, name: str) -> bool:
        text = self._scalar(tree, name).lower()
        if text not in _TRUE + _FALSE:
            raise SceneError(f"{name} is {tree.kind}; it must be {self.describe()}", tree.place)
        return text in _TRUE

    def describe(self) -> str:
        return "true or false"


@dataclasses.dataclass(frozen=True)
class Text(Spec):
    def read(self, tree: Tree, name: str) -> str:
        return self._scalar(tree, name)

    def describe(self) -> str:
        return "a text"


@dataclasses.dataclass(frozen=True)
class Choice(Spec):
    legal: tuple[str, ...]

    def read(self, tree: Tree, name: str) -> str:
        text = self._scalar(tree, name)
        if text not in self.legal:
            hint = did_you_mean(text, self.legal)
            raise SceneError(f"{name} is '{text}'{hint}; legal values: {legal_list(self.legal)}", tree.place)
        return text

    def describe(self) -> str:
        return " or ".join(f"`{item}`" for item in self.legal)


@dataclasses.dataclass(frozen=True)
class FileName(Spec):
    """A file, relative to the file that names it. Read as an absolute Path; whether it exists is checked here."""

    suffixes: tuple[str, ...]

    def read(self, tree: Tree, name: str) -> Path:
        text = self._scalar(tree, name)
        base = Path(tree.place.source).parent if tree.place.line else Path.cwd()
        path = (base / text).resolve()
        if path.suffix.lower() not in self.suffixes:
            raise SceneError(f"{name} is '{text}'; legal endings: {legal_list(self.suffixes)}", tree.place)
        if not path.is_file():
            raise SceneError(f"{name}: there is no file {path}{_files_near(path, self.suffixes)}", tree.place)
        return path

    def describe(self) -> str:
        return f"a file ({', '.join(self.suffixes)}), relative to the file that names it"


def _files_near(path: Path, suffixes: tuple[str, ...]) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"; there is no folder {folder} either"
    names = sorted(p.name for p in folder.iterdir() if p.suffix.lower() in suffixes)
    if not names:
        return ""
    shown = legal_list(names[:12]) + (", ..." if len(names) > 12 else "")
    return f"{did_you_mean(path.name, names)}; files there: {shown}"


@dataclasses.dataclass(frozen=True)
class Vector(Spec):
    """`size` values of one spec, read as a tuple."""

    item: Spec
    size: int = 3

    def read(self, tree: Tree, name: str) -> tuple:
        if not isinstance(tree.value, list) or len(tree.value) != self.size:
            given = f"a list of {len(tree.value)}" if isinstance(tree.value, list) else tree.kind
            raise SceneError(f"{name} is {given}; it must be {self.describe()}", tree.place)
        return tuple(self.item.read(entry, f"{name}[{i}]") for i, entry in enumerate(tree.value))

    def describe(self) -> str:
        return f"a list of {self.size}: {self.item.describe()} each"


@dataclasses.dataclass(frozen=True)
class ListOf(Spec):
    item: Spec

    def read(self, tree: Tree, name: str) -> tuple:
        if not isinstance(tree.value, list):
            raise SceneError(f"{name} is {tree.kind}; it must be {self.describe()}", tree.place)
        return tuple(self.item.read(entry, f"{name}[{i}]") for i, entry in enumerate(tree.value))

    def describe(self) -> str:
        return f"a list of: {self.item.describe()}"


@dataclasses.dataclass(frozen=True)
class Color(Spec):
    """`#c8a165` or three numbers in 0..1; read as (r, g, b)."""

    def read(self, tree: Tree, name: str) -> tuple[float, float, float]:
        if isinstance(tree.value, list):
            return Vector(Quantity("number", low=0.0, high=1.0)).read(tree, name)
        text = self._scalar(tree, name)
        try:
            if len(text) != 7 or text[0] != "#":
                raise ValueError
            return tuple(int(text[i : i + 2], 16) / 255.0 for i in (1, 3, 5))
        except ValueError:
            raise SceneError(f"{name} is '{text}'; it must be {self.describe()}", tree.place) from None

    def describe(self) -> str:
        return 'a quoted colour "#rrggbb", or three numbers in 0..1'


@dataclasses.dataclass(frozen=True)
class OrNone(Spec):
    """The value, or `none`."""

    item: Spec

    def read(self, tree: Tree, name: str) -> Any:
        if tree.value is None or (isinstance(tree.value, str) and tree.value.lower() == "none"):
            return None
        return self.item.read(tree, name)

    def describe(self) -> str:
        return f"{self.item.describe()}, or `none`"


@dataclasses.dataclass(frozen=True)
class MapOf(Spec):
    """Names to values. A name is a word of letters, digits, `_`, `-` and the characters of `also`."""

    item: Spec
    also: str = ""

    def read(self, tree: Tree, name: str) -> dict[str, Any]:
        if not isinstance(tree.value, dict):
            raise SceneError(f"{name} is {tree.kind}; it must be {self.describe()}", tree.place)
        for key in tree.value:
            if not "".join(c for c in key if c not in "_-" + self.also).isalnum():
                place = tree.key_place.get(key, tree.place)
                legal = ", ".join(["letters", "digits", *self.also, "_"])
                raise SceneError(f"'{key}' in {name} is not a name: {legal} and - only", place)
        return {key: self.item.read(item, dotted(name, key)) for key, item in tree.value.items()}

    def describe(self) -> str:
        return f"a mapping from names to: {self.item.describe()}"


@dataclasses.dataclass(frozen=True)
class Record:
    """Base of the project's own tables: remembers where the table and each of its keys were written."""

    place: Place | None = dataclasses.field(default=None, compare=False, kw_only=True)
    key_place: Mapping[str, Place] = dataclasses.field(default_factory=dict, compare=False, kw_only=True)

    def at(self, key: str) -> Place | None:
        """Where `key` was written, or the table's own place when the default holds."""
        return self.key_place.get(key, self.place)


def setting(spec: Spec, doc: str, default: Any = dataclasses.MISSING, factory: Callable | Any = dataclasses.MISSING):
    """A field of a Record: how it is read, what it means, and its default (none: the key is required)."""
    metadata = {"spec": spec, "doc": doc}
    return dataclasses.field(default=default, default_factory=factory, metadata=metadata, kw_only=True)


@dataclasses.dataclass(frozen=True)
class Table(Spec):
    """A mapping with known keys, read as an instance of the dataclass `target`.

    specs: key -> (Spec, doc) for a target that does not carry its own (an engine dataclass); defaults: what differs
    from the target's own defaults here.
    """

    target: type
    specs: Mapping[str, tuple[Spec, str]] | None = None
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    title: str = ""

    def fields(self) -> dict[str, tuple[Spec, str, Any]]:
        """key -> (spec, doc, default); default dataclasses.MISSING marks a required key."""
        found = {}
        for item in dataclasses.fields(self.target):
            if self.specs is not None and item.name in self.specs:
                spec, doc = self.specs[item.name]
            elif "spec" in item.metadata:
                spec, doc = item.metadata["spec"], item.metadata["doc"]
            else:
                continue
            default = item.default
            if item.default_factory is not dataclasses.MISSING:
                default = item.default_factory()
            found[item.name] = (spec, doc, self.defaults.get(item.name, default))
        return found

    def read(self, tree: Tree, name: str, skip: tuple[str, ...] = ()) -> Any:
        table = self.fields()
        if not isinstance(tree.value, dict):
            raise SceneError(f"{name} is {tree.kind}; it must be a mapping, keys: {legal_list(table)}", tree.place)
        for key in tree.value:
            if key not in table and key not in skip:
                place = tree.key_place.get(key, tree.value[key].place)
                legal = f"legal keys: {legal_list((*skip, *table))}"
                raise SceneError(f"unknown key '{key}' in {name}{did_you_mean(key, table)}; {legal}", place)
        values = {}
        for key, (spec, _, default) in table.items():
            if key in tree.value:
                values[key] = spec.read(tree.value[key], dotted(name, key))
            elif default is dataclasses.MISSING:
                raise SceneError(f"{name} lacks '{key}': {spec.describe()}", tree.place)
            elif key in self.defaults:
                values[key] = default
        return self._make(values, tree, name)

    def _make(self, values: dict[str, Any], tree: Tree, name: str) -> Any:
        if issubclass(self.target, Record):
            places = {key: item.place for key, item in tree.value.items()}
            values |= {"place": tree.place, "key_place": places}
        try:
            return self.target(**values)
        except SceneError:
            raise
        except ValueError as error:  # the target's own checks name the field as Target.field
            prefix = f"{self.target.__name__}."
            key = str(error).split(" ")[0].removeprefix(prefix)
            place = tree.value[key].place if key in tree.value else tree.place
            raise SceneError(str(error).replace(prefix, dotted(name, "")), place) from None

    def describe(self) -> str:
        return f"a mapping: see {self.title or self.target.__name__}"


@dataclasses.dataclass(frozen=True)
class Variant(Spec):
    """A mapping in which the value of `key` chooses the table; `default` is chosen when it is left out."""

    tables: Mapping[str, Table]
    title: str
    key: str = "type"
    default: str | None = None

    def read(self, tree: Tree, name: str) -> Any:
        if not isinstance(tree.value, dict):
            raise SceneError(f"{name} is {tree.kind}; it must be a mapping with the key '{self.key}'", tree.place)
        if self.key in tree.value:
            chosen = Choice(tuple(self.tables)).read(tree.value[self.key], dotted(name, self.key))
        elif self.default is not None:
            chosen = self.default
        else:
            raise SceneError(f"{name} lacks '{self.key}'; legal values: {legal_list(self.tables)}", tree.place)
        return self.tables[chosen].read(tree, name, skip=(self.key,))

    def describe(self) -> str:
        words = " or ".join(f"`{t}`" for t in self.tables)
        default = f" (default {self.default})" if self.default else ""
        return f"a mapping: see {self.title}; `{self.key}` is {words}{default}"


def plain(value: Any) -> Any:
    """Value as nested dicts, lists, numbers and texts: what an episode's metadata keeps of a scene."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        keep = [f.name for f in dataclasses.fields(value) if f.name not in ("place", "key_place")]
        return {"type": type(value).__name__} | {name: plain(getattr(value, name)) for name in keep}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Path):
        return value.name
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return value
