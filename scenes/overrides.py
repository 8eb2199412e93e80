"""`--set strip.width=0.019`: one value of a scene replaced from the command line."""

from __future__ import annotations

import yaml

from scenes.errors import Place, SceneError, did_you_mean, legal_list
from scenes.yaml_tree import Tree

MAX_OVERRIDE = 10_000  # [character]


def apply_override(tree: Tree, text: str, sections: tuple[str, ...]) -> Tree:
    """Scene tree with `path=value` laid over it.

    The path is dotted; it starts at a section (`options.dt=0.01`) or, shorter, at the name of an entity
    (`strip.width=19 mm`); numbers choose list items. The value is YAML: `19 mm`, `[0, 0, 0.1]`, `none`. Keys and types
    are checked by the schema afterwards, with the override named as the place. Raises SceneError.
    """
    place = Place(f"--set {text}")
    path, equals, value = text.partition("=")
    keys = path.strip().split(".")
    if not equals or not all(keys):
        raise SceneError("an override is written --set path=value, for example --set strip.width=0.019", place)
    if len(text) > MAX_OVERRIDE:
        raise SceneError(f"an override has {MAX_OVERRIDE} characters at most", Place("--set"))
    entities = tree.value.get("entities")
    names = list(entities.value) if entities and isinstance(entities.value, dict) else []
    if keys[0] == "include":
        raise SceneError("'include' cannot be overridden", place)
    if keys[0] not in sections:
        if keys[0] not in names:
            legal = [*names, *sections]
            raise SceneError(
                f"there is no '{keys[0]}' in the scene{did_you_mean(keys[0], legal)}; "
                f"entities: {legal_list(names) or '-'}; sections: {legal_list(sections)}",
                place,
            )
        keys = ["entities", *keys]
    return _replace(tree, keys, _value(value.strip(), place), place, ())


def _replace(tree: Tree, keys: list[str], value: Tree, place: Place, done: tuple[str, ...]) -> Tree:
    if not keys:
        return value
    key, rest = keys[0], keys[1:]
    where = ".".join(done) or "the scene"
    if isinstance(tree.value, list):
        if not key.isdigit() or int(key) >= len(tree.value):
            raise SceneError(f"{where} is a list; '{key}' must be a number below {len(tree.value)}", place)
        items = list(tree.value)
        items[int(key)] = _replace(items[int(key)], rest, value, place, (*done, key))
        return Tree(items, tree.place)
    if isinstance(tree.value, str):
        raise SceneError(f"{where} is {tree.kind}; it has no '{key}'", place)
    entries = dict(tree.value or {})
    entries[key] = _replace(entries.get(key, Tree(None, place)), rest, value, place, (*done, key))
    return Tree(entries, tree.place, {**tree.key_place, key: tree.key_place.get(key, place)})


def _value(text: str, place: Place) -> Tree:
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError):
        raise SceneError(f"'{text}' is not a value", place) from None
    return _convert(node, place)


def _convert(node: yaml.Node | None, place: Place, depth: int = 0) -> Tree:
    if depth > 8:
        raise SceneError("the value is nested too deeply", place)
    if node is None:
        return Tree(None, place)
    if isinstance(node, yaml.ScalarNode):
        return Tree(None if node.tag == "tag:yaml.org,2002:null" else node.value, place)
    if isinstance(node, yaml.SequenceNode):
        return Tree([_convert(item, place, depth + 1) for item in node.value], place)
    pairs = {str(key.value): _convert(item, place, depth + 1) for key, item in node.value}
    return Tree(pairs, place, dict.fromkeys(pairs, place))
