"""Scene files as trees that remember where every value was written; includes merged; bounded in size and depth.

Only the structure of YAML is used (mappings, lists, scalar text): no tags, no implicit types, so `1e9` is a number
wherever the schema asks for one and a file cannot construct objects.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import yaml

from scenes.errors import Place, SceneError

MAX_FILE_BYTES = 1 << 20  # [byte] one YAML file
MAX_FILES = 32  # files of one scene, includes counted
MAX_INCLUDE_DEPTH = 8
MAX_DEPTH = 24  # nesting of values
MAX_VALUES = 50_000  # values of one scene, aliases counted each time they are used


@dataclass(eq=False)
class Tree:
    """One value: a dict of Trees, a list of Trees, or the text of a scalar (None for an empty value or null)."""

    value: dict[str, Tree] | list[Tree] | str | None
    place: Place
    key_place: dict[str, Place] = field(default_factory=dict)  # where each key of a mapping stands

    @property
    def kind(self) -> str:
        if isinstance(self.value, dict):
            return "a mapping"
        if isinstance(self.value, list):
            return "a list"
        return "nothing" if self.value is None else f"'{self.value}'"


class _Reader:
    """State of reading one scene: budget of files and values."""

    def __init__(self):
        self.files = 0
        self.values = 0

    def read(self, path: Path, trail: tuple[Path, ...], asked_at: Place | None) -> Tree:
        resolved = path.resolve()
        if resolved in trail:
            chain = " -> ".join(p.name for p in (*trail[trail.index(resolved) :], resolved))
            raise SceneError(f"include cycle: {chain}", asked_at)
        if len(trail) >= MAX_INCLUDE_DEPTH:
            raise SceneError(f"includes are nested deeper than {MAX_INCLUDE_DEPTH}", asked_at)
        self.files += 1
        if self.files > MAX_FILES:
            raise SceneError(f"more than {MAX_FILES} files are included", asked_at)
        tree = self._parse(_read_text(path, asked_at), path)
        if tree.value is None:
            tree = Tree({}, tree.place)
        if not isinstance(tree.value, dict):
            raise SceneError(f"a scene file is a mapping of sections; this one is {tree.kind}", tree.place)
        return self._merge_includes(tree, path, (*trail, resolved))

    def _merge_includes(self, tree: Tree, path: Path, trail: tuple[Path, ...]) -> Tree:
        asked = tree.value.pop("include", None)
        if asked is None:
            return tree
        base = Tree({}, tree.place)
        for item in asked.value if isinstance(asked.value, list) else [asked]:
            if not isinstance(item.value, str):
                raise SceneError(f"include is {item.kind}; it must be a file name or a list of file names", item.place)
            base = merge(base, self.read(_included(path, item), trail, item.place))
        return merge(base, tree)

    def _parse(self, text: str, path: Path) -> Tree:
        source = str(path)
        try:
            loader = yaml.SafeLoader(text)  # the pure one: deep nesting ends in RecursionError, not in a crash
            try:
                node = loader.get_single_node()
            finally:
                loader.dispose()
            if node is None:
                return Tree({}, Place(source, 1, 1))
            return self._convert(node, source, 0)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = Place(source, mark.line + 1, mark.column + 1) if mark else Place(source)
            raise SceneError(f"not valid YAML: {error.problem or error.context}", place) from None
        except yaml.YAMLError as error:  # e.g. a control character; has no mark
            raise SceneError(f"not valid YAML: {error}", Place(source)) from None
        except RecursionError:
            raise SceneError(f"values are nested deeper than {MAX_DEPTH}", Place(source)) from None

    def _convert(self, node: yaml.Node, source: str, depth: int) -> Tree:
        place = Place(source, node.start_mark.line + 1, node.start_mark.column + 1)
        self.values += 1
        if self.values > MAX_VALUES:
            raise SceneError(f"the scene has more than {MAX_VALUES} values", place)
        if depth > MAX_DEPTH:
            raise SceneError(f"values are nested deeper than {MAX_DEPTH}", place)
        if isinstance(node, yaml.ScalarNode):
            is_null = node.tag == "tag:yaml.org,2002:null"
            return Tree(None if is_null else node.value, place)
        if isinstance(node, yaml.SequenceNode):
            return Tree([self._convert(item, source, depth + 1) for item in node.value], place)
        values: dict[str, Tree] = {}
        key_place: dict[str, Place] = {}
        for key, item in node.value:
            at = Place(source, key.start_mark.line + 1, key.start_mark.column + 1)
            if not isinstance(key, yaml.ScalarNode):
                raise SceneError("a key must be a plain word", at)
            if key.value in values:
                raise SceneError(f"'{key.value}' is written twice, first at line {key_place[key.value].line}", at)
            values[key.value] = self._convert(item, source, depth + 1)
            key_place[key.value] = at
        return Tree(values, place, key_place)


def _included(path: Path, item: Tree) -> Path:
    """Scene files alone, by relative paths: a scene from elsewhere must not make messages quote any file it names."""
    name = Path(item.value)
    if name.is_absolute() or name.drive or name.suffix.lower() not in (".yaml", ".yml"):
        raise SceneError(f"include '{item.value}' must be a relative path that ends in .yaml or .yml", item.place)
    return path.parent / name


def read_tree(path: str | Path) -> Tree:
    """The merged tree of a scene file and its includes.

    `include: other.yaml` (or a list, later ones win) is read relative to the file that names it; mappings merge, and
    what the including file writes itself wins. Raises SceneError: missing or unreadable file, not YAML, repeated key,
    cycle, or one of the MAX_ limits of this module.
    """
    return _Reader().read(Path(path), (), None)


def merge(base: Tree, over: Tree) -> Tree:
    """`over` laid over `base`: mappings merge key by key; lists and scalars are replaced whole."""
    if not isinstance(base.value, dict) or not isinstance(over.value, dict):
        return over
    merged = dict(base.value)
    for key, item in over.value.items():
        merged[key] = merge(merged[key], item) if key in merged else item
    return Tree(merged, over.place, {**base.key_place, **over.key_place})


def _read_text(path: Path, asked_at: Place | None) -> str:
    try:
        if not path.is_file():
            near = sorted(p.name for p in path.parent.glob("*.yaml"))[:12] if path.parent.is_dir() else []
            beside = f"; YAML files there: {', '.join(near)}" if near else ""
            raise SceneError(f"there is no file {path}{beside}", asked_at)
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise SceneError(f"{path} has {size} bytes; a scene file has {MAX_FILE_BYTES} at most", asked_at)
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise SceneError(f"cannot read {path}: {error.strerror or error}", asked_at) from None
    except UnicodeDecodeError:
        raise SceneError(f"{path} is not UTF-8 text", asked_at) from None
